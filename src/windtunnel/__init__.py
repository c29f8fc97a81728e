"""Windtunnel: put a data plane in the wind tunnel before it flies.

What the command line does, as calls: `windtunnel.run("scenarios/echo.toml") -> Run`. See docs/how-to/library.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from windtunnel.version import __version__

if TYPE_CHECKING:
    from windtunnel.errors import UserError
    from windtunnel.library import compare, export, import_run, query, run, search, study
    from windtunnel.measure.compare.model import Comparison
    from windtunnel.measure.study.study import Study
    from windtunnel.measure.throughput.record import SearchRecord
    from windtunnel.runs import Run, load

__all__ = [
    "Comparison",
    "Run",
    "SearchRecord",
    "Study",
    "UserError",
    "__version__",
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
    "Comparison": "windtunnel.measure.compare.model",
    "study": "windtunnel.library",
    "SearchRecord": "windtunnel.measure.throughput.record",
    "Study": "windtunnel.measure.study.study",
    "Run": "windtunnel.runs",
    "load": "windtunnel.runs",
    "UserError": "windtunnel.errors",
}


def __getattr__(name: str) -> Any:
    """Calls are imported when they are used: `windtunnel --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """What there is, imported or not."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
