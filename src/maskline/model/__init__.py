"""BERT from scratch: the encoder, its heads, and the way to Hugging Face's names and back."""
