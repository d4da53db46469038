"""Tagged sentences, and a tokenizer that cuts some of their words into pieces."""

import json

from maskline.dataset.write import write_dataset
from maskline.settings.files import read_yaml
from maskline.tasks.tokens.examples import Examples
from maskline.tokenization.special import SPECIAL_TOKENS
from maskline.vocabulary.normalization import normalizer
from maskline.vocabulary.save import save
from maskline.vocabulary.wordpiece import from_vocabulary
from tests.project import ROOT
from tests.tasks.small import parameters
from tests.tiny import tokenizer_params

FILE = read_yaml(ROOT / "tasks" / "ner.yaml")
LABELS = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
PIECES = [*SPECIAL_TOKENS, "play", "##ing", "##ed", "the", "paris", "##ian", "new", "york", "ann", "."]
PLAY, ING, ED, THE, PARIS, IAN, NEW, YORK, ANN, DOT = range(5, 15)


def params(changes=None):
    """Return parameters with one task, `ner`; a key such as `ner:dataset.types` is one of its file."""
    return parameters("ner", "tokens", FILE, {"ner:dataset.types": ["LOC", "PER"], **(changes or {})})


def dataset(**changes):
    """Return the section `dataset` of the task."""
    return params({f"ner:dataset.{key}": value for key, value in changes.items()}).task("ner").dataset


def write(directory, *paths, **changes):
    """Write the task `ner` of the files `paths` to `directory`; return its manifest."""
    fractions = {"validation_fraction": 0.3, "test_fraction": 0.3}
    changes = {"files.paths": [str(path) for path in paths]} | fractions | changes
    return write_dataset(directory, "ner", dataset(**changes), Examples())


def write_sentences(path, sentences):
    """Write pairs of words and tags as JSON lines; return the path."""
    rows = [{"tokens": words, "ner_tags": tags} for words, tags in sentences]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_pieces(directory):
    """Write a tokenizer of PIECES, whose ids their places are."""
    chosen = tokenizer_params()
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    save(from_vocabulary(vocabulary, normalizer(chosen, "en")), directory, chosen, {})
    return directory
