"""A tagger that trains no encoder: logistic regression on what it says of the first piece of each word."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from maskline.examples.batches import by_length
from maskline.finetuning.probe import fit_probe, some
from maskline.finetuning.task import Pretrained
from maskline.model.architecture import Encoder
from maskline.model.directory import load_encoder
from maskline.model.inputs import layout_of, move
from maskline.model.modes import evaluating
from maskline.tasks.tokens.tagging import BATCH_TOKENS, batch_of, best_tags, no_scores
from maskline.tasks.tokens.windows import Windows

SEQUENCES = {"train": 1024, "validation": 512}
"""Sequences of a split at most, evenly spaced, that the probe reads: some ten words each, or a hundred."""
VECTORS = "the last layer"


def probe_tags(
    windows: dict[str, Windows],
    tags: dict[str, NDArray[np.int64]],
    labels: Sequence[str],
    pretrained: Pretrained,
    score: Callable[[NDArray[np.int64]], float],
) -> NDArray[np.int64]:
    """Return the tags of all words of the test split, (W,): of each sentence the most probable ones that are IOB2.

    Args:
        windows: of the splits train, validation and test.
        tags: of all words of train and validation.
        labels: the tags.
        pretrained: the encoder.
        score: what tells how good the tags of all words of validation are; those that the probe does not read are O.
    """
    encoder = load_encoder(pretrained.directory, pretrained.stage).to(pretrained.device)
    x, words = {}, {}
    for split in ("train", "validation"):
        rows = some(len(windows[split].input_ids), SEQUENCES[split])
        x[split], words[split] = _vectors(encoder, windows[split], rows, pretrained.device)

    def chosen(scores: NDArray[np.float32]) -> float:
        return score(_tags(windows["validation"], words["validation"], scores, labels))

    classes = len(labels)
    probe = fit_probe({VECTORS: x["train"]}, tags["train"][words["train"]], {VECTORS: x["validation"]}, chosen, classes)
    test = windows["test"]
    everything = np.arange(len(test.input_ids))
    found = no_scores(test, labels)
    if probe is not None:
        for part in np.array_split(everything, max(1, len(everything) // SEQUENCES["train"])):
            vectors, places = _vectors(encoder, test, part, pretrained.device)
            if len(places):
                found[places] = probe.log_probabilities(vectors, classes)
    return best_tags(found, test.ends, labels)


def _tags(
    windows: Windows, words: NDArray[np.int64], scores: NDArray[np.float32], labels: Sequence[str]
) -> NDArray[np.int64]:
    found = no_scores(windows, labels)
    found[words] = scores
    return best_tags(found, windows.ends, labels)


@torch.no_grad()
def _vectors(
    encoder: Encoder, windows: Windows, rows: NDArray[np.int64], device: torch.device
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the output at the first pieces of M words in the sequences `rows`, (M, D), and which words, (M,)."""
    vectors, words = [np.empty((0, encoder.params.hidden), np.float32)], [np.empty(0, np.int64)]
    with evaluating(encoder):
        for part in by_length(windows.sizes[rows], BATCH_TOKENS):
            batch = batch_of(windows, rows[part])
            ids = move(batch.input_ids, device)
            x = encoder(ids, torch.zeros_like(ids), layout_of(batch.lengths, device))
            vectors.append(x.index_select(0, move(batch.positions, device)).float().cpu().numpy())
            words.append(batch.words)
    return np.concatenate(vectors), np.concatenate(words)
