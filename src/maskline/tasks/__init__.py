"""Downstream tasks: their examples, and what is learned from them."""
