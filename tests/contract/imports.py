"""Which of the project's files an import pulls in, read from the syntax, imports inside functions included."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"maskline": ROOT / "src" / "maskline", "pipeline": ROOT / "pipeline"}


def path_of(module: str) -> Path | None:
    """Return the file of a dotted name, None where it is no module of the project."""
    first, *rest = module.split(".")
    if first not in PACKAGES:
        return None
    base = PACKAGES[first].joinpath(*rest)
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports, and those of the packages that hold them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 2)}


def closure(path: Path) -> set[Path]:
    """Return `path` and every file of the project that importing and running it may load."""
    found, waiting = set(), [path]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += [file for name in imported(current) if (file := path_of(name))]
    return found
