"""Reads a TOML text as a model, with errors that name file and line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from windtunnel.scenario.load import parsed
from windtunnel.scenario.refusal import Refusal, Source

Model = TypeVar("Model", bound=BaseModel)


def validated(
    model: type[Model],
    file: Path,
    text: str,
    refusal_of: Callable[[Any], Refusal],
    named_in: Path | None = None,
) -> Model:
    """The model with the values of `text`. `refusal_of` words the first error that pydantic reports. `named_in`: the directory of the file that
    names this one; None: the user does. Raises UserError with file and line."""
    data = parsed(file, text, named_in)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise Source(file, text, named_in=named_in).reading_error(
            refusal_of(error.errors(include_url=False)[0])
        ) from None
