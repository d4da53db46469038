"""Tokenizers: learn a vocabulary, save it for Hugging Face, load it, and encode text quickly."""
