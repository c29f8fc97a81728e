"""Windtunnel: put a data plane in the wind tunnel before it flies.

What the command line does, as calls: `windtunnel.run("scenarios/echo.toml") -> Run`. See docs/how-to/library.md.
"""

from typing import TYPE_CHECKING, Any

from windtunnel.version import __version__

if TYPE_CHECKING:
    from windtunnel.errors import UserError
    from windtunnel.library import (
        Comparison,
        Run,
        SearchRecord,
        Study,
        compare,
        export,
        import_run,
        load,
        query,
        run,
        search,
        study,
    )

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


def __getattr__(name: str) -> Any:
    """Calls are imported when they are used: `windtunnel --help` needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from windtunnel import library

    return getattr(library, name)


def __dir__() -> list[str]:
    """What there is, imported or not."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
