"""The textbook's server: FastAPI, with `SentenceTransformer.encode` in the handler.

`python -m benchmarks.peers.textbook MODEL` prints its address once it answers.
"""

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from maskline.serving.server import BACKLOG, listen


class Texts(BaseModel):
    """What is sent."""

    texts: list[str]


def make_app(directory: Path) -> FastAPI:
    """Return what answers with the model in `directory`."""
    from benchmarks.embedding import sentence_transformer

    model = sentence_transformer(directory)
    app = FastAPI()

    @app.post("/embed")
    def embed(sent: Texts) -> dict[str, list[list[float]]]:
        return {"vectors": model.encode(sent.texts).tolist()}

    return app


def main(directory: Path) -> None:
    """Serve the model in `directory` until the process is told to stop."""
    app = make_app(directory)
    listener = listen("127.0.0.1", 0)
    listener.listen(BACKLOG)
    sys.stdout.write(f"textbook at http://127.0.0.1:{listener.getsockname()[1]} \n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([listener])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
