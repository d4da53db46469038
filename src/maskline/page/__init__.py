"""A run, or several beside each other, as one page: a file that needs no network and no other file."""
