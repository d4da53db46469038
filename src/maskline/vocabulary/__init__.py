"""Learning a vocabulary, or taking one that exists, and saving it as a tokenizer."""
