"""Fine-tuning and scoring any task: the protocol of a task and what runs it."""
