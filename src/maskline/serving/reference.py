"""The page about the paths: what OpenAPI says, as HTML that loads nothing from elsewhere."""

import json
from collections.abc import Mapping
from html import escape
from typing import Any

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
</head>
<body>
<main>
<h1>{title}</h1>
<p>Machines read <a href="/openapi.json">openapi.json</a>. Errors are <code>{{"error": {{"message": ...}}}}</code>.</p>
"""
FOOT = "</main>\n</body>\n</html>\n"


def reference(description: Mapping[str, Any]) -> str:
    """Return a page about each path in an OpenAPI description."""
    schemas = description.get("components", {}).get("schemas", {})
    parts = [HEAD.format(title=escape(description["info"]["title"]))]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<section>\n<h2><code>{method.upper()} {escape(path)}</code></h2>\n")
            parts.append(f"<p>{escape(operation.get('description', ''))}</p>\n")
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            answer = operation["responses"]["200"].get("content", {}).get("application/json", {}).get("schema")
            for caption, schema in (("send", body), ("get", answer)):
                parts += _table(caption, _resolved(schema or {}, schemas), schemas)
            parts.append("</section>\n")
    return "".join(parts) + FOOT


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a schema refers to, or itself."""
    found: Mapping[str, Any] = schemas.get(schema.get("$ref", "").rpartition("/")[2], schema)
    return found


def _table(caption: str, schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> list[str]:
    """Return the keys of an object as a table, or nothing where they are not described."""
    if "properties" not in schema:
        return []
    required = schema.get("required", [])
    rows = []
    for name, one in schema["properties"].items():
        cells = (_type(one, schemas), _default(one, required=name in required), one.get("description", ""))
        described = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row"><code>{escape(name)}</code></th>{described}</tr>\n')
    return [f"<table>\n<caption>{caption}</caption>\n", *rows, "</table>\n"]


def _default(schema: Mapping[str, Any], *, required: bool) -> str:
    return "" if required or "default" not in schema else f"default {json.dumps(schema['default'])}"


def _type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Return the type of a value in words."""
    if "anyOf" in schema:
        return " or ".join(_type(one, schemas) for one in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if "$ref" in schema:
        inner = _resolved(schema, schemas)
        return "{" + ", ".join(inner.get("properties", {})) + "}"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}), schemas)}"
    return str(schema.get("type", "any"))
