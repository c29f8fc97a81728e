"""The base of every model in the engine's lines: a key that is not known is an error, and nothing is changed once it is read."""

from pydantic import BaseModel, ConfigDict


class Line(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
