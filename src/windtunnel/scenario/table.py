"""Base of all tables of a scenario."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of the scenario: unknown keys are refused, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False)
