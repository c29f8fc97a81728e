"""Windtunnel: put a data plane in the wind tunnel before it flies.

What the command line does, as calls: `windtunnel.run("scenarios/echo.toml") -> Run`. See docs/library.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windtunnel.errors import UserError
    from windtunnel.library import compare, export, import_run, query, run, search, study
    from windtunnel.measure.compare import Comparison
    from windtunnel.measure.study.study import Study
    from windtunnel.runs import Run, load

__version__ = "0.1.0"
__all__ = [
    "Comparison",
    "Run",
    "Study",
    "UserError",
    "compare",
    "export",
    "import_run",
    "load",
    "query",
    "run",
    "search",
    "study",
]

_HOMES = {
    "query": "windtunnel.library",
    "run": "windtunnel.library",
    "search": "windtunnel.library",
    "compare": "windtunnel.library",
    "export": "windtunnel.library",
    "import_run": "windtunnel.library",
    "Comparison": "windtunnel.measure.compare",
    "study": "windtunnel.library",
    "Study": "windtunnel.measure.study.study",
    "Run": "windtunnel.runs",
    "load": "windtunnel.runs",
    "UserError": "windtunnel.errors",
}


def __getattr__(name: str) -> Any:
    """The calls are imported when they are asked for: `windtunnel --help` wants none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
