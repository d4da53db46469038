"""What a run shows of itself: figures, tables, and the comparison of experiments."""
