"""Bases of all tables of a scenario or a study."""

from pydantic import BaseModel, ConfigDict, PrivateAttr

from windtunnel.scenario.refusal import Source


class Table(BaseModel):
    """A table of the scenario: unknown keys are refused, and nothing is converted silently."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, allow_inf_nan=False)


class FileTable(Table):
    """The table of a whole file."""

    _source: Source = PrivateAttr()
    _question: str = PrivateAttr("")

    @property
    def source(self) -> Source:
        """The file that it was read from."""
        return self._source

    @property
    def question(self) -> str:
        """The file's opening comment line."""
        return self._question
