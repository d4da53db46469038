"""What every room stands on: errors, files that are whole or absent, the base of settings."""
