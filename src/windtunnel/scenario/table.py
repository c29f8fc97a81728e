"""What all tables of a scenario have in common."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of the scenario: unknown keys are refused, nothing is converted in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False)
