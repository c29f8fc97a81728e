"""What results offer to notebooks: a small HTML table, and pandas DataFrames.

Results lie below what shows them. Whoever gives results to users (`windtunnel.library`) says here how each kind is shown.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windtunnel.errors import UserError, as_argument

if TYPE_CHECKING:
    import pandas

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Presentation:
    """How results of one kind are shown."""

    html: Callable[[Any], str]
    tables: Callable[[Any], Mapping[str, Rows]]
    """Plain rows by the name of their table, the most important one first."""


_PRESENTATIONS: dict[type, Presentation] = {}


def present(kind: type, presentation: Presentation) -> None:
    """Says how results of this kind, and of kinds made from it, are shown."""
    _PRESENTATIONS[kind] = presentation


class Shown:
    """A result that a notebook can show."""

    def _repr_html_(self) -> str | None:
        """A small table; no scripts. None, for which a notebook shows the plain text, if nobody has said how."""
        presentation = self._presentation()
        return presentation.html(self) if presentation else None

    def to_pandas(self, table: str | None = None) -> "pandas.DataFrame":
        """One of the result's tables as a DataFrame; without a name the first one.

        A Run has `workloads`, `stages`, `workers`, `ports`; a Study `results`, `points`; a Comparison `metrics`, `verdicts`; a
        search `goals`, `trials`, `latency`. Times are ns, rates per second, shares from 0 to 1. The column `rejected` of a run says
        whether it is invalid. Raises UserError for an unknown table, for a run that measured nothing, and if pandas is not installed.
        """
        presentation = self._presentation()
        if presentation is None:
            raise UserError(
                f"a {type(self).__name__} without tables", remedy="import windtunnel.library, which has them"
            )
        tables = presentation.tables(self)
        name = next(iter(tables), "") if table is None else table
        if name not in tables:
            raise UserError(f'no table "{name}"', remedy=f"one of {', '.join(tables)}")
        try:
            from pandas import DataFrame
        except ImportError:
            remedy = f"{as_argument(sys.executable)} -m pip install pandas"
            raise UserError('to_pandas needs the Python package "pandas"', remedy=remedy) from None
        return DataFrame(tables[name])

    def _presentation(self) -> Presentation | None:
        return next((_PRESENTATIONS[kind] for kind in type(self).__mro__ if kind in _PRESENTATIONS), None)
