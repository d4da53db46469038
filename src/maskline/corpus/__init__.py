"""Articles: their sources (one module each), their cleaning, and the split that each belongs to."""
