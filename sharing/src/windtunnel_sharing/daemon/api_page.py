"""The API as a page for people, made of its OpenAPI description: without scripts, and with nothing from a network."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

Schema = Mapping[str, Any]


def page(description: Schema) -> str:
    """HTML."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["kind"] = kind
    text = files("windtunnel_sharing.daemon").joinpath("api.html").read_text()
    return environment.from_string(text).render(
        about=description["info"],
        security=description["components"]["securitySchemes"],
        operations=[
            (method.upper(), path, operation)
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
        ],
        bodies=description["components"]["schemas"],
    )


def kind(schema: Schema) -> str:
    """A JSON schema in words: "a whole number from 1 to 256, or null"."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return ", or ".join(map(kind, schema["anyOf"]))
    if "enum" in schema:
        return ", or ".join(f'"{value}"' for value in schema["enum"])
    of = schema.get("type")
    if of == "array":
        return f"a list of: {kind(schema['items'])}"
    if of == "string":
        return "text" + (f" of at most {schema['maxLength']} characters" if "maxLength" in schema else "")
    if of in ("integer", "number"):
        lowest = schema.get("minimum", schema.get("exclusiveMinimum"))
        highest = schema.get("maximum", schema.get("exclusiveMaximum"))
        bounds = [f"from {lowest}"] * (lowest is not None) + [f"to {highest}"] * (highest is not None)
        return " ".join(["a whole number" if of == "integer" else "a number", *bounds])
    return {"boolean": "true or false", "null": "null", "object": "an object"}.get(str(of), "any JSON")
