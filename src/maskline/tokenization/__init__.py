"""From text to token ids: training a vocabulary, saving it for Hugging Face, loading it, encoding quickly."""
