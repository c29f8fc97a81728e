"""Results as JSON for machines."""

import json

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError


def json_of(model: BaseModel) -> str:
    """The model for machines, also with the name of a directory that is not UTF-8, which pydantic refuses."""
    try:
        return model.model_dump_json(indent=1)
    except PydanticSerializationError:
        return json.dumps(model.model_dump(mode="json"), indent=1, ensure_ascii=False)
