"""The stages of dvc.yaml and the commands beside them, one module each."""
