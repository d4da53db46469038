"""A smaller encoder that learns what a stronger one says of unlabelled sentences (Hinton et al. 2015)."""
