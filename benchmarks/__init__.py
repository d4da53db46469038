"""maskline side by side with what a user would otherwise run, in one run on one machine.

A subject is a module of this package with a function `rows`, which measures and returns what it found as rows:
what ours is held against, the ratio, the target, and every raw value. `python -m benchmarks NAME` runs one, in a
process of its own, and writes `reports/benchmarks/NAME.json|md`; `make bench` runs all of them.
"""

SUBJECTS = (
    "training_step",
    "time_to_loss",
    "input_pipeline",
    "tokenize_stage",
    "inference",
    "startup",
    "growth",
    "size",
    "arabic_mlm",
    "dump_extraction",
)
"""The modules that measure, in the order of the summary."""
BY_NAME_ALONE = ("size",)
"""Those of them that nobody waits for who asks for all: minutes of the stages themselves, with no peer beside them."""
