"""Reads a TOML text as a model, with errors that name file and line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from windtunnel.scenario import toml
from windtunnel.scenario.refusal import Refusal, Source

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], file: Path, text: str, refusal_of: Callable[[Any], Refusal]) -> Model:
    """The model with the values of `text`. `refusal_of` words the first error that pydantic reports. Raises UserError with file and line."""
    try:
        data = toml.parse(text)
    except toml.Fault as fault:
        raise fault.error(file) from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise Source(file, text).error(refusal_of(error.errors(include_url=False)[0])) from None
