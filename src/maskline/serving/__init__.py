"""A model behind an address: what many ask for is gathered into batches."""
