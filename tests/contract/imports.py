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
    """Return the dotted names that a file imports, and those of the packages that hold them.

    What only types need (`if TYPE_CHECKING`) is not loaded when the file runs.
    """
    names: set[str] = set()
    for node in _loaded(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 2)}


def _loaded(node: ast.AST):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _loaded(child)


def closure(*paths: Path, without: str = "") -> set[Path]:
    """Return `paths` and every file of the project that importing and running them may load.

    Modules whose name begins with `without` are not followed.
    """
    found: set[Path] = set()
    waiting = list(paths)
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            names = (name for name in imported(current) if not (without and name.startswith(without)))
            waiting += [file for name in names if (file := path_of(name))]
    return found


def room_of(path: Path) -> str | None:
    """Return the room that a file of the library lies in, relative to src/maskline; None for what is in no room.

    The files that only make a package of a folder of rooms hold a docstring and no more.
    """
    parts = path.relative_to(PACKAGES["maskline"]).parts[:-1]
    if not parts or parts == ("tasks",):
        return None
    return "/".join(parts[:2]) if parts[0] == "tasks" else parts[0]
