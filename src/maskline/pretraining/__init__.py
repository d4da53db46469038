"""Pretraining: objective, scores on the fixed validation set, and the run."""
