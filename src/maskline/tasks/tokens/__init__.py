"""Token classification: each word of a sentence has a tag, such as those of named entities."""
