"""The examples of a task: where they come from, which are kept, which split each is in, and how they lie on disk."""
