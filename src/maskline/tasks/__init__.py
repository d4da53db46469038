"""Kinds of downstream task, a room each: how its examples are read, its model, its scores."""
