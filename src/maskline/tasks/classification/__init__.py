"""Text classification: one text, one class."""
