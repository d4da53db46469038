"""Token shards: articles as sentences of token ids, in memory-mapped files."""
