"""How good a model is: scores on the fixed validation set and on tasks, and what to read them against."""
