"""A page that shows what a model does to a text: its attention, its guesses, its vectors."""
