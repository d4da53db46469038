"""Errors as JSON of one line, in OpenAI's shape, so that any client finds the message."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from starlette.responses import Response

from maskline.core.errors import one_line

OPENAI = "/v1/"
"""What the paths in OpenAI's shape begin with."""


def fault(
    status: int, message: object, *, path: str = "", code: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error; what is 422 elsewhere is 400 below OPENAI, which its clients expect."""
    if status == HTTPStatus.UNPROCESSABLE_ENTITY and path.startswith(OPENAI):
        status = HTTPStatus.BAD_REQUEST
    kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(
        status, "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    )
    # What was sent may have keys with half a character, which no JSON can hold.
    line = one_line(message).encode(errors="backslashreplace").decode()
    content = {"error": {"message": line, "type": kind, "param": None, "code": code}}
    return Response(orjson.dumps(content), status, dict(headers or {}), "application/json")


def explained(errors: Sequence[Mapping[str, Any]]) -> tuple[int, str]:
    """Return the status and one line about what was sent, given what pydantic says of it; its values stay out."""
    # Of what may be a text or a list, pydantic says both: what went farther was meant, and of two types the list.
    first = max(errors, key=lambda error: (len(error["loc"]), not error["type"].endswith("_type"), _is_list(error)))
    where = [str(part) for part in first["loc"] if part not in ("body", "str") and "[" not in str(part)]
    if first["type"] == "json_invalid":
        return HTTPStatus.BAD_REQUEST, f"the body is no JSON: {first['ctx']['error']} at character {where[0]}"
    if not where:
        message = f"the body: {first['msg']}; send a JSON object, with Content-Type application/json"
        return HTTPStatus.UNPROCESSABLE_ENTITY, message
    return HTTPStatus.UNPROCESSABLE_ENTITY, f"{'.'.join(where)}: {first['msg']}"


def _is_list(error: Mapping[str, Any]) -> bool:
    return str(error["loc"][-1]).startswith("list[")
