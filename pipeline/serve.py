"""Serve a model: vectors, predictions, fills and a search for programs and people."""

import os
from pathlib import Path
from typing import Annotated

import typer

from maskline.core.errors import UserError
from pipeline.cli import run, say

KEY = "MASKLINE_API_KEY"
KEPT = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
LOCAL = ("127.0.0.1", "::1", "localhost")


def main(
    model: Annotated[Path, typer.Argument(help="A directory of a model of any kind.", file_okay=False)],
    index: Annotated[
        Path | None,
        typer.Option(help="An index made with this model, to be searched.", file_okay=False, show_default=False),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is every address of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: any that is free.", min=0, max=65535)] = 8000,
    name: Annotated[
        str | None, typer.Option(help="The name of the model; without it, that of its directory.", show_default=False)
    ] = None,
    most_texts: Annotated[int, typer.Option(help="Texts of a request.", min=1)] = 1_024,
    most_bytes: Annotated[int, typer.Option(help="Bytes of a request.", min=1)] = 4 << 20,
    most_waiting: Annotated[int, typer.Option(help="Tokens that wait for the model.", min=1)] = 1 << 17,
) -> None:
    """Answer over HTTP what a model can be asked for, on the CPU, until SIGTERM or Ctrl-C.

    / is a page for people, /docs lists what programs send and get. Where MASKLINE_API_KEY is set, requests need it.
    """
    from maskline.serving.installed import check_installed

    check_installed()

    # Nearly every batch has a size of its own: what oneDNN keeps for 1,024 of them would be 60 MB (LOG.md).
    os.environ.setdefault(KEPT, "64")
    from maskline.serving.app import Limits, Service
    from maskline.serving.model import ServedModel
    from maskline.serving.searching import SearchProcess
    from maskline.serving.server import listen, serve

    key = os.environ.get(KEY)
    if key is not None and not (key.strip() == key != "" and key.isascii() and key.isprintable()):
        raise UserError(
            f"{KEY} is empty, or has what no header of HTTP holds (characters beyond ASCII, blanks at an end): give "
            "another, or unset it"
        )
    with listen(host, port) as listener:
        served = ServedModel(model, name)
        searching = SearchProcess(index, model) if index else None
        service = Service(served, searching, Limits(most_texts, most_bytes, most_waiting))
        for what, reason in served.refused.items():
            say(f"without {what}: {reason}", err=True)
        if key is None and host not in LOCAL:
            say(f"whoever reaches {host} may ask: {KEY} sets a key", err=True)

        def started() -> None:
            address = f"[{host}]" if ":" in host else host
            offers = ", ".join(service.information()["offers"])
            say(f"{served.name} at http://{address}:{listener.getsockname()[1]} ({offers}); Ctrl-C stops it")

        serve(service, listener, key, started)
    say("stopped")


if __name__ == "__main__":
    run(main)
