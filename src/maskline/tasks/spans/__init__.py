"""Extractive question answering: the answer to a question is a span of a text, or there is none."""
