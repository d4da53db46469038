"""Pretrain, fine-tune and measure BERT encoders from scratch, reproducibly."""
