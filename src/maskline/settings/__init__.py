"""params.yaml, tasks/NAME.yaml and presets/NAME.yaml, read and checked as a whole.

Commands import this room and no stage depends on it: a check may refuse a run, and never changes one.
"""
