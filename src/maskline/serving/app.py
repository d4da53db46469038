"""The paths of the server."""

import asyncio
import base64
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from maskline.core.errors import UserError, quoted
from maskline.inference.embedding import Pooling
from maskline.serving.batches import Batcher, Compute
from maskline.serving.batches import Request as Asking
from maskline.serving.faults import explained, fault
from maskline.serving.messages import (
    EmbedAnswer,
    EmbedRequest,
    ErrorAnswer,
    FillAnswer,
    FillRequest,
    OpenAIAnswer,
    OpenAIRequest,
    PredictAnswer,
    PredictRequest,
    SearchAnswer,
    SearchRequest,
)
from maskline.serving.metrics import CONTENT_TYPE, Metrics
from maskline.serving.model import ServedModel, Vector, Where
from maskline.serving.reference import reference
from maskline.serving.refusals import ClientLeftError, InputError, RefusalError
from maskline.serving.searching import SearchProcess

PAGES = Path(__file__).parent / "pages"
ONLY_OURS = (
    "default-src 'none'; img-src data:; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the pages: nothing is loaded from elsewhere, and nothing sent there."""
COUNTERS = 2
"""Threads that count tokens."""
ERRORS: dict[int | str, dict[str, Any]] = {code: {"model": ErrorAnswer} for code in (400, 401, 413, 422, 429, 500, 503)}

Value = TypeVar("Value")


@dataclass(frozen=True)
class Limits:
    """What is refused."""

    texts: int = 1_024
    """Texts, or inputs, of a request."""
    bytes: int = 4 << 20
    """Bytes of a body."""
    waiting: int = 1 << 17
    """Tokens that wait for the model; a request that finds nothing waiting may have more."""


class Service:
    """A model, perhaps with an index, and the threads that answer."""

    def __init__(self, model: ServedModel, index: SearchProcess | None, limits: Limits) -> None:
        self.model = model
        self.index = index
        self.limits = limits
        self.metrics = Metrics(lambda: self.batcher.waiting)
        self.batcher = Batcher(limits.waiting, computed=self.metrics.computed)
        self._counters = ThreadPoolExecutor(COUNTERS, "count")

    async def count(self, counting: Callable[..., Value], *arguments: Any, **named: Any) -> Value:
        """Return what `counting` returns, called in another thread: a long text would hold up all answers."""
        return await asyncio.wrap_future(self._counters.submit(partial(counting, *arguments, **named)))

    async def compute(
        self, request: Request, key: Hashable, compute: Compute, inputs: Sequence[Any], sizes: Sequence[int]
    ) -> list[Any]:
        """Return the results for `inputs`, computed together with those of others of one `key`.

        Raises:
            BusyError: too much is waiting.
            UnavailableError: the server stops.
            ClientLeftError: the client left, and what was waiting is dropped.
        """
        return await self.while_there(request, self.batcher.ask(Asking(key, compute, inputs, sizes)))

    async def while_there(self, request: Request, coming: "Future[Value]") -> Value:
        """Return what is coming, unless the client leaves before: then it is cancelled.

        Raises:
            ClientLeftError: the client left.
        """
        answer = asyncio.wrap_future(coming)
        gone = asyncio.ensure_future(request.receive())  # the body was read: what comes next is the end
        try:
            either: set[asyncio.Future[Any]] = {answer, gone}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ClientLeftError
            return answer.result()
        finally:
            answer.cancel()
            gone.cancel()

    def close(self) -> None:
        """End all threads and the process of the index."""
        self.batcher.close()
        self._counters.shutdown(cancel_futures=True)
        if self.index:
            self.index.close()

    def information(self) -> dict[str, Any]:
        """Return what /info says."""
        model, index = self.model, self.index
        return {
            "model": model.name,
            "hashes": dict(model.hashes),
            "offers": [*model.offers, *(["search"] if index else [])],
            "absent": {what: f"this model has nothing for {what}" for what in model.refused}
            | ({} if index else {"search": "there is no index: start the server with --index"}),
            "fields": list(model.fields),
            "max_tokens": model.longest,
            "dimensions": model.dimensions,
            "index": {"documents": index.count, "methods": list(index.methods)} if index else None,
            "limits": asdict(self.limits),
            "version": version("maskline"),
        }

    def check_number(self, inputs: Sequence[Any], name: str) -> None:
        """Check that a request has no more inputs than it may.

        Raises:
            InputError: it has.
        """
        if len(inputs) > self.limits.texts:
            raise InputError(f"{name} has {len(inputs):,}, and at most {self.limits.texts:,} are taken at a time")

    async def vectors(
        self,
        request: Request,
        texts: Sequence[str],
        where: Where,
        pooling: Pooling,
        *,
        normalized: bool,
        truncate: bool,
    ) -> tuple[list[Vector], list[int]]:
        """Return the vector of each text, (D,), and its tokens; `where` says how errors call the text of a number.

        Raises:
            InputError: a text is not taken.
        """
        sizes = await self.count(self.model.count_to_embed, texts, where, truncate=truncate)
        compute = partial(self.model.embed, pooling=pooling, normalized=normalized)
        return await self.compute(request, ("embed", pooling, normalized), compute, texts, self.read(sizes)), sizes

    def read(self, sizes: Sequence[int]) -> list[int]:
        """Return how many tokens of each text the model reads."""
        return [min(size, self.model.longest) for size in sizes]

    def cut(self, sizes: Sequence[int]) -> list[int]:
        """Return the numbers of the texts that the model does not read to their end."""
        return [number for number, size in enumerate(sizes) if size > self.model.longest]


def as_json(content: Any) -> Response:
    """Return JSON; arrays of NumPy are written as they are."""
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


def make_app(service: Service) -> FastAPI:
    """Return what answers for `service`, with the paths that it offers."""
    app = FastAPI(
        title=f"maskline: {service.model.name}",
        version=version("maskline"),
        docs_url=None,  # it loads scripts from elsewhere
        redoc_url=None,
        responses=ERRORS,
    )
    _answer_faults(app)
    _tell(app, service)
    _show_pages(app)
    if "embed" in service.model.offers:
        _embed(app, service)
    if "predict" in service.model.offers:
        _predict(app, service)
    if "fill-mask" in service.model.offers:
        _fill(app, service)
    if service.index:
        _search(app, service, service.index)
    return app


def _answer_faults(app: FastAPI) -> None:
    """Answer every error in one shape."""
    for kind in (RefusalError, RequestValidationError, UserError, HTTPException, Exception):
        app.add_exception_handler(kind, answer_fault)


def answer_fault(request: Request, error: Exception) -> Response:
    """Return the answer that says what is wrong; of what is not foreseen, the log has the traceback."""
    path = request.url.path
    match error:
        case RefusalError():
            return fault(error.status, error, path=path, code=error.code, headers=error.headers)
        case RequestValidationError():
            status, message = explained(error.errors())
            return fault(status, message, path=path)
        case UserError():
            return fault(HTTPStatus.UNPROCESSABLE_ENTITY, error, path=path)
        case HTTPException(status_code=HTTPStatus.BAD_REQUEST):
            return fault(error.status_code, "the body is no JSON that can be read", path=path)
        case HTTPException():
            message = f"{request.method} {quoted(path)}: {error.detail}; /docs lists what there is"
            return fault(error.status_code, message, headers=error.headers)
        case _:
            return fault(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed: its log says how")


def _tell(app: FastAPI, service: Service) -> None:
    """Add what tells how the server is."""

    @app.get("/health")
    async def health() -> Mapping[str, str]:
        """Say that the server answers."""
        return {"status": "ok"}

    @app.get("/info")
    async def info() -> Mapping[str, Any]:
        """Say what is served, and with which limits."""
        return service.information()

    @app.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Return counts for Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)


def _show_pages(app: FastAPI) -> None:
    """Add the page for people, and that about the paths."""
    headers = {"content-security-policy": ONLY_OURS, "x-content-type-options": "nosniff"}

    def show(path: str, content: bytes, kind: str) -> None:
        @app.get(path, include_in_schema=False)
        async def page() -> Response:
            return Response(content, headers=headers, media_type=f"{kind}; charset=utf-8")

    show("/", (PAGES / "index.html").read_bytes(), "text/html")
    show("/page.css", (PAGES / "page.css").read_bytes(), "text/css")
    show("/page.js", (PAGES / "page.js").read_bytes(), "text/javascript")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(reference(app.openapi()), headers=headers, media_type="text/html")


def _embed(app: FastAPI, service: Service) -> None:
    """Add what gives vectors."""
    model = service.model

    @app.post("/embed", response_model=EmbedAnswer)
    async def embed(asked: EmbedRequest, request: Request) -> Response:
        """Return a vector for each text."""
        service.check_number(asked.texts, "texts")
        options = {"normalized": asked.normalize, "truncate": asked.truncate}
        vectors, sizes = await service.vectors(request, asked.texts, "texts[{}]".format, asked.pooling, **options)
        about = {"model": model.name, "tokens": sizes, "truncated": service.cut(sizes)}
        return as_json(about | {"vectors": vectors})

    @app.post("/v1/embeddings", response_model=OpenAIAnswer)
    async def embeddings(asked: OpenAIRequest, request: Request) -> Response:
        """Return a vector of length 1, the mean of its tokens, for each text, in OpenAI's shape."""
        if asked.model != model.name:
            message = f"model {quoted(asked.model)} is not served here: name {model.name}"
            return fault(HTTPStatus.NOT_FOUND, message, code="model_not_found")
        if asked.dimensions not in (None, model.dimensions):
            raise InputError(f"dimensions: this model has {model.dimensions}, and no fewer")
        texts = [asked.input] if isinstance(asked.input, str) else asked.input
        service.check_number(texts, "input")
        where = "input".format if isinstance(asked.input, str) else "input[{}]".format
        vectors, sizes = await service.vectors(request, texts, where, "mean", normalized=True, truncate=asked.truncate)
        shown = _base64 if asked.encoding_format == "base64" else np.ascontiguousarray
        data = [
            {"object": "embedding", "index": number, "embedding": shown(vector)}
            for number, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": sum(sizes), "total_tokens": sum(sizes)}
        return as_json({"object": "list", "model": model.name, "data": data, "usage": usage})

    @app.get("/v1/models")
    async def models() -> Mapping[str, Any]:
        """List the model, in OpenAI's shape."""
        return {"object": "list", "data": [{"id": model.name, "object": "model", "created": 0, "owned_by": "maskline"}]}


def _base64(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _predict(app: FastAPI, service: Service) -> None:
    """Add what a fine-tuned model says."""
    model = service.model

    @app.post("/predict", response_model=PredictAnswer)
    async def predict(asked: PredictRequest, request: Request) -> Response:
        """Return what the model says of each input."""
        service.check_number(asked.inputs, "inputs")
        inputs = [_fields(one, model.fields, number) for number, one in enumerate(asked.inputs)]
        counted = await service.count(model.count_to_predict, inputs)
        sizes = [one.size for one in counted]
        found = await service.compute(request, "predict", model.predict, counted, sizes)
        if not asked.truncate:
            model.check_read(counted, found)
        truncated = [number for number, one in enumerate(found) if one.cut]
        about = {"model": model.name, "tokens": sizes, "truncated": truncated}
        return as_json(about | {"predictions": [one.row for one in found]})


def _fields(given: str | Mapping[str, str], fields: Sequence[str], number: int) -> Mapping[str, str]:
    """Return an input by its fields.

    Raises:
        InputError: it lacks one, or has others.
    """
    if isinstance(given, str):
        if len(fields) > 1:
            raise InputError(f"inputs[{number}] is a text, and an input has {', '.join(fields)}: send an object")
        return {fields[0]: given}
    if set(given) != set(fields):
        raise InputError(f"inputs[{number}] has {quoted(sorted(given))}, and an input has {', '.join(fields)}")
    return given


def _fill(app: FastAPI, service: Service) -> None:
    """Add what a pretrained model puts in place of masks."""
    model = service.model

    @app.post("/fill-mask", response_model=FillAnswer)
    async def fill_mask(asked: FillRequest, request: Request) -> Response:
        """Return the most probable tokens for each [MASK] of each text."""
        service.check_number(asked.texts, "texts")
        sizes = await service.count(model.count_to_fill, asked.texts)
        compute = partial(model.fill, top=asked.top)
        found = await service.compute(request, ("fill", asked.top), compute, asked.texts, sizes)
        fills = [[[fill._asdict() for fill in mask] for mask in text] for text in found]
        return as_json({"model": model.name, "tokens": sizes, "fills": fills})


def _search(app: FastAPI, service: Service, index: SearchProcess) -> None:
    """Add the search in an index."""

    @app.post("/search", response_model=SearchAnswer)
    async def search(asked: SearchRequest, request: Request) -> Response:
        """Return the documents that fit a query best."""
        if asked.method not in index.methods:
            raise InputError(f"method: the index has no {asked.method}; it has {', '.join(index.methods)}")
        vector, truncated = None, False
        if asked.method != "bm25":
            vectors, sizes = await service.vectors(
                request, [asked.query], "query".format, index.pooling, normalized=True, truncate=asked.truncate
            )
            vector, truncated = vectors[0], bool(service.cut(sizes))
        found = await service.while_there(request, index.search(asked.method, asked.query, vector, asked.k))
        hits = [hit._asdict() for hit in found]
        return as_json({"model": service.model.name, "truncated": truncated, "hits": hits})
