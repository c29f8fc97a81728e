"""What results offer to notebooks: a small HTML table, and pandas DataFrames.

Results lie below the views. `windtunnel.views.notebook` is imported when it is asked for.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from windtunnel.errors import UserError, as_argument

if TYPE_CHECKING:
    import pandas


class Shown:
    """A result that a notebook can show."""

    def _repr_html_(self) -> str:
        """A small table; no scripts."""
        html: str = _views().html(self)
        return html

    def to_pandas(self, table: str | None = None) -> "pandas.DataFrame":
        """One of the result's tables as a DataFrame; without a name the first one.

        A Run has `workloads`, `stages`, `workers`, `ports`; a Study `results`, `points`; a Comparison `metrics`, `verdicts`; a
        search `goals`, `trials`, `latency`. Times are ns, rates per second, shares from 0 to 1. The column `rejected` of a run says
        whether it is invalid. Raises UserError for an unknown table, for a run that measured nothing, and where pandas is not installed.
        """
        tables: dict[str, list[dict[str, Any]]] = _views().tables(self)
        name = next(iter(tables)) if table is None else table
        if name not in tables:
            raise UserError(f'no table "{name}"', remedy=f"one of {', '.join(tables)}")
        try:
            from pandas import DataFrame
        except ImportError:
            remedy = f"{as_argument(sys.executable)} -m pip install pandas"
            raise UserError('to_pandas needs the Python package "pandas"', remedy=remedy) from None
        return DataFrame(tables[name])


def _views() -> Any:
    return import_module("windtunnel.views.notebook")
