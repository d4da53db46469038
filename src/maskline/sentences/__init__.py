"""Where a sentence ends, in any language."""
