"""The label that no loss counts."""

IGNORE_INDEX = -100
"""Label of what is not to be predicted: PyTorch's default `ignore_index`, and that of `transformers`."""
