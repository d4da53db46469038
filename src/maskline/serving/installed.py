"""Whether the libraries of the server are there."""

from importlib.util import find_spec

from maskline.core.errors import UserError


def check_installed() -> None:
    """Check that the extra `serve` is installed.

    Raises:
        UserError: it is not.
    """
    missing = [name for name in ("fastapi", "orjson", "prometheus_client", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UserError(f"{', '.join(missing)} is not installed: pip install -c constraints.txt -e '.[serve]'")
