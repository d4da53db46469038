"""BERT from scratch: the encoder, its heads, and the conversion from and to Hugging Face's weights."""
