"""The data of the reference run, made by the product's stages; several subjects use it."""

import subprocess
import sys
from pathlib import Path

from maskline.core.storage import fingerprint, read_json, sha256, write_json
from maskline.settings.files import read_yaml
from maskline.settings.params import PARAMS, load

DATA = Path("data")
BUILT = Path(".benchmarks/data")
STAGES = {
    "fetch": {"--corpus": "corpus", "--report": "reports/corpus"},
    "tokenizer": {"--corpus": "corpus", "--tokenizer": "tokenizer", "--report": "reports/tokenizer"},
    "tokenize": {
        "--corpus": "corpus",
        "--tokenizer": "tokenizer",
        "--tokens": "tokens",
        "--report": "reports/tokenize",
    },
    "premask": {"--tokens": "tokens/validation", "--tokenizer": "tokenizer", "--out": "validation"},
}
"""Stage -> its options, which are paths in the folder of the data."""


def reference_data() -> Path:
    """Return the folder of the corpus, tokenizer, tokens and validation set that params.yaml describes.

    It is `data` if that is up to date for DVC. Otherwise the stages' commands make it in another folder.
    """
    status = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "dvc", "status", "--quiet", *STAGES], capture_output=True, check=False
    )
    if status.returncode == 0:
        return DATA
    return made(BUILT, PARAMS)


def made(directory: Path, params: Path) -> Path:
    """Make the data that the file `params` describes in `directory`, with the stages' commands; return `directory`.

    The data is made again only if parameters or code have changed.
    """
    identity, mark = fingerprint(_inputs(params)), directory / "identity.json"
    if not mark.is_file() or read_json(mark) != identity:
        for stage, options in STAGES.items():
            paths = [part for option, path in options.items() for part in (option, str(directory / path))]
            command = [sys.executable, "-m", f"pipeline.{stage}", "--params", str(params), *paths]
            subprocess.run(command, check=True)  # noqa: S603
        write_json(mark, identity)
    return directory


def _inputs(params: Path) -> dict[str, object]:
    """Return what shapes the data: the parameters, and the hash of every source file of the stages."""
    sections = load(params).model_dump(include={"corpus", "tokenizer", "tokenize", "premask"})
    stages = read_yaml(Path("dvc.yaml"))["stages"]
    rooms = {dep for stage in STAGES for dep in stages[stage]["deps"] if dep.startswith("src/")}
    files = sorted(path for room in rooms for path in Path(room).rglob("*.py"))
    return {"params": sections, "files": {path.as_posix(): sha256(path) for path in files}}
