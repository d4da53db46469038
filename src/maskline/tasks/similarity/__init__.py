"""Similarity of sentence pairs: two texts have vectors whose cosine says how alike they are."""
