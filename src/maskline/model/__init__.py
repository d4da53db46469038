"""Encoders from scratch: one folder for each architecture, and what they share: heads, conversion, directories."""
