"""Several tasks on one encoder, trained at once (Caruana 1997; Liu et al. 2019, MT-DNN)."""
