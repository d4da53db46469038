"""Encoders that others trained, as models of ours: any BERT in the format of Hugging Face."""
