"""List the presets, or print one as flags of `dvc exp run`."""

from pathlib import Path
from typing import Annotated

import typer

from maskline.core.errors import UserError
from pipeline.cli import ParamsFile, run, say


def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="A file in the folder of presets, without .yaml; of several, all together."
        ),
    ] = None,
    params: ParamsFile = Path("params.yaml"),
    presets: Annotated[Path, typer.Option(help="The folder of presets.", file_okay=False)] = Path("presets"),
) -> None:
    """List the presets, or print the flags of some: dvc exp run $(python -m pipeline.preset NAME)."""
    from maskline.settings.presets import flags, summary

    files = {path.stem: path for path in sorted(presets.glob("*.yaml"))}
    if not files:
        raise UserError(f"no preset in {presets}: run from the folder of the project, or name theirs with --presets")
    if not names:
        width = max(map(len, files))
        for stem, path in files.items():
            say(f"{stem:{width}}  {summary(path)}", indent=width + 2)
        return
    if unknown := [name for name in names if name not in files]:
        raise UserError(f"no preset {unknown[0]} in {presets}: there are {', '.join(files)}")
    typer.echo(" ".join(flags(*(files[name] for name in names), reference=params)))


if __name__ == "__main__":
    run(main)
