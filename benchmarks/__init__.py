"""Benchmarks: maskline side by side with what a user would run otherwise, in one run on one machine.

A subject is a module of this package with a function `rows`. It measures, and returns rows: the peer that maskline is
compared with, the ratio, the target, and all raw values. `python -m benchmarks NAME` runs one subject in a process of
its own, and writes `reports/benchmarks/NAME.json` and `NAME.md`. `make bench` runs all subjects but `BY_NAME_ALONE`.
"""

SUBJECTS = (
    "training_step",
    "time_to_loss",
    "input_pipeline",
    "tokenize_stage",
    "inference",
    "embedding",
    "search",
    "retrieval",
    "onnx",
    "startup",
    "growth",
    "size",
    "arabic_mlm",
    "dump_extraction",
    "sentences",
    "serve",
)
"""The subjects, in the order of the summary."""
BY_NAME_ALONE = ("size", "retrieval", "onnx", "serve")
"""Subjects that run only when they are named: they take many minutes or data that not all have."""
