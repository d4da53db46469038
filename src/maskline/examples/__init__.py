"""From articles to token shards, and from token shards to batches: sentence pairs (NSP) and masking (MLM)."""
