"""From token shards to batches: sentence pairs (NSP), masking (MLM), and what a batch is."""
