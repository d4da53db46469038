"""Directories of graphs, and the use of a graph. Nothing here needs torch."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskline.core.errors import UserError, one_line
from maskline.core.storage import read_json, read_manifest
from maskline.graphs.cpu import cpu_flags
from maskline.tokenization.texts import Packed

GRAPH = "model.onnx"
CONFIG = "config.json"
ABOUT = "graph"
"""The key of the manifest under which it says what the graph is: `kind`, `precision`, `cpu_flags`."""
STAGE = "export"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
"""(B, T) integers each."""


def is_graph(directory: Path) -> bool:
    """Return whether a directory holds a graph, and no weights of torch."""
    return (directory / GRAPH).exists()


def refuse_graph(directory: Path) -> None:
    """Check that `directory` holds weights of torch, for what needs them.

    Raises:
        UserError: it holds a graph.
    """
    if is_graph(directory):
        raise UserError(f"{directory} holds a graph, and this needs weights: name the model that it was exported from")


def require(*modules: str) -> None:
    """Check that what only graphs need is installed.

    Raises:
        UserError: it is not.
    """
    if missing := [name for name in modules if find_spec(name) is None]:
        raise UserError(f"{', '.join(missing)} is not installed: pip install -c constraints.txt -e '.[onnx]'")


@dataclass(frozen=True)
class RuntimeGraph:
    """A graph that ONNX Runtime computes."""

    directory: Path
    config: Mapping[str, Any]
    kind: str | None
    """Of the task that it is used for; None: it gives vectors alone."""
    content: Path | bytes
    """The file, or what would be in it."""

    @property
    def longest(self) -> int:
        """Return the most tokens that a sequence may have."""
        return int(self.config["max_position_embeddings"])

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads()
        options.enable_mem_pattern = False  # it is kept for each shape, and there are many
        options.log_severity_level = 3
        content = self.content if isinstance(self.content, bytes) else str(self.content)
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def open(self) -> "RuntimeGraph":
        """Load the graph, and return it.

        Raises:
            UserError: it is none.
        """
        require("onnxruntime")
        try:
            names = {value.name for value in self._session.get_inputs()}
        except Exception as error:  # noqa: BLE001  # what the library raises has no class of its own
            raise UserError(f"{self.directory / GRAPH} is no graph ({one_line(error)}): export it again") from None
        if names != set(INPUTS):
            raise UserError(f"{self.directory / GRAPH} reads {', '.join(sorted(names))}: export it again")
        return self

    def of_texts(self, texts: Packed, *outputs: str) -> list[NDArray[np.float32]]:
        """Return outputs that there are for each of the B sequences, (B, ...)."""
        return self.padded(texts, *outputs)

    def of_tokens(self, texts: Packed, *outputs: str) -> list[NDArray[np.float32]]:
        """Return outputs that there are for each of the N tokens, (N, ...)."""
        real = _real(texts)
        return [padded[real] for padded in self.padded(texts, *outputs)]

    def padded(self, texts: Packed, *outputs: str) -> list[NDArray[np.float32]]:
        """Return outputs as the graph gives them, (B, T, ...) of tokens and (B, ...) of sequences."""
        import onnxruntime

        real = _real(texts)
        input_ids, token_type_ids = (np.zeros(real.shape, np.int64) for _ in range(2))
        input_ids[real], token_type_ids[real] = texts.input_ids, texts.token_type_ids
        given = dict(zip(INPUTS, (input_ids, real.astype(np.int64), token_type_ids), strict=True))
        options = onnxruntime.RunOptions()
        options.only_execute_path_to_fetches = True  # without the heads that nobody asks for
        found: list[NDArray[np.float32]] = self._session.run(list(outputs), given, options)
        return found


def _real(texts: Packed) -> NDArray[np.bool_]:
    """Return where the padded batch has a token, (B, T)."""
    real: NDArray[np.bool_] = np.arange(texts.lengths.max()) < texts.lengths[:, None]
    return real


def threads() -> int:
    """Return how many threads to compute in: as OMP_NUM_THREADS says, which torch reads too, else one for each core."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_graph(directory: Path) -> RuntimeGraph:
    """Return the graph in `directory`; say on stderr what this machine lacks of that on which int8 was measured.

    Raises:
        UserError: the directory is incomplete or damaged, or ONNX Runtime is not installed.
    """
    about = _about(directory)
    graph = RuntimeGraph(directory, read_json(directory / CONFIG), about["kind"], directory / GRAPH).open()
    lacking = [flag for flag in about["cpu_flags"] if flag not in cpu_flags()]
    if about["precision"] == "int8" and lacking:
        sys.stderr.write(
            f"{directory}: int8 was measured on a processor with {', '.join(lacking)}, which this one lacks: it may be "
            "slow here, and less exact: export it again on this machine\n"
        )
    return graph


def _about(directory: Path) -> Mapping[str, Any]:
    try:
        manifest = read_manifest(directory, STAGE)
    except UserError as error:
        raise UserError(str(error).replace(f"`dvc repro {STAGE}`", "`python -m pipeline.export` again")) from None
    about = manifest.get(ABOUT)
    if not isinstance(about, dict) or not {"kind", "precision", "cpu_flags"} <= about.keys():
        raise UserError(f"{directory} was not written by `python -m pipeline.export`: export it again")
    return about
