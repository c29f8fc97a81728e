"""Fields that parts add to the models of the contract with the engine."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, create_model

from windtunnel.part_registry import part_modules

Model = TypeVar("Model", bound=BaseModel)


def with_fields_of_parts(module: str) -> Callable[[type[Model]], type[Model]]:
    """A decorator that adds the fields of parts to a model. A part has them in its module of this name, in a mapping that is named after the
    model, as WINDOW for Window: field name -> its type and Field. A field of the part is checked as any other; only the part reads it."""

    def extended(model: type[Model]) -> type[Model]:
        fields = {
            key: field
            for part in part_modules(module)
            for key, field in getattr(part, model.__name__.upper(), {}).items()
        }
        if not fields:
            return model
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
        )

    return extended
