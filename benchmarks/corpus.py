"""The real data that several subjects measure on: the reference run's own, made by the product's stages."""

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
"""Stage -> its options, which are paths below the folder of the data."""


def reference_data() -> Path:
    """Return the folder of corpus, tokenizer, tokens and validation that params.yaml describes.

    It is `data` where DVC finds that up to date, and otherwise made by the stages' own commands, aside and once for
    each state of parameters and code.
    """
    status = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "dvc", "status", "--quiet", *STAGES], capture_output=True, check=False
    )
    if status.returncode == 0:
        return DATA
    return made(BUILT, PARAMS)


def made(directory: Path, params: Path) -> Path:
    """Return `directory` with the data that the file `params` describes, made by the stages' own commands.

    They run once for each state of parameters and code.
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
