"""Little that is trained on an encoder that stays as it is: bottlenecks, low-rank changes of matrices, a head alone."""
