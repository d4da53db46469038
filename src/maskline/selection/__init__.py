"""Which articles are kept: cleaning, lengths, duplicates, splits."""
