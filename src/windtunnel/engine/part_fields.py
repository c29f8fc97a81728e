"""Fields that parts add to the models of the contract with the engine."""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, create_model

from windtunnel.part_registry import part_modules

Model = TypeVar("Model", bound=BaseModel)


def with_fields_of_parts(module: str) -> Callable[[type[Model]], type[Model]]:
    """A decorator that adds to a model the fields that parts have for it: in their modules of this name, the mapping that is called as the model in
    capitals, from a field's name to its type and its Field. Only the part knows its fields; to all others the model is as it is written."""

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
