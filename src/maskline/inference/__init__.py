"""Using a trained model: filling masks, vectors."""
