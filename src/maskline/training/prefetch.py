"""The examples of a step, prepared ahead of it by other processes where there are some."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from maskline.core.errors import UserError

_AHEAD = 4
"""Steps that each process is ahead."""


class _Steps(Dataset[list[Any]]):
    def __init__(self, prepare: Callable[[int], list[Any]]) -> None:
        self.prepare = prepare

    def __getitem__(self, step: int) -> list[Any]:
        return self.prepare(step)


def prepared(prepare: Callable[[int], list[Any]], ranges: Iterable[range], loaders: int) -> Iterator[list[Any]]:
    """Yield `prepare(step)` for the updates of `ranges`, in this order however many processes prepare them.

    Args:
        prepare: returns NumPy arrays, as a function of the step alone; it is called in the other processes.
        ranges: updates, counted from 0; each range is asked for when its turn comes, and has processes of its own.
        loaders: how many; 0: each step waits for its own.

    Raises:
        UserError: this system cannot fork a process, which is how one gets hold of the data.
    """
    if loaders and "fork" not in multiprocessing.get_all_start_methods():
        raise UserError("compute.loaders needs a system that can fork processes: set it to 0")
    return chain.from_iterable(_of_range(prepare, steps, loaders) for steps in ranges)


def _of_range(prepare: Callable[[int], list[Any]], steps: range, loaders: int) -> Iterable[list[Any]]:
    if not loaders:
        return map(prepare, steps)
    return DataLoader(
        _Steps(prepare),
        batch_size=None,
        sampler=steps,
        num_workers=loaders,
        prefetch_factor=_AHEAD,
        collate_fn=_as_it_is,
        multiprocessing_context="fork",
        generator=torch.Generator(),  # else the loader would draw from the global one
    )


def _as_it_is(prepared: list[Any]) -> list[Any]:
    return prepared
