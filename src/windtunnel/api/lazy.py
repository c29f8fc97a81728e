"""Names of a module that are imported when they are first asked for (PEP 562)."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def loader_of(subject: str) -> Callable[[str], Any]:
    """The `__getattr__` of the module `subject`, for the names that it imports for type checkers. Whoever asks for one of them loads nothing
    for the others: a daemon of root's needs neither plots nor a database. Raises AttributeError for another name."""

    @cache
    def places() -> dict[str, str]:
        text = Path(str(sys.modules[subject].__file__)).read_text(encoding="utf-8")
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        return {alias.name: str(node.module) for node in imports for alias in node.names}

    def load(name: str) -> Any:
        if name not in places():
            raise AttributeError(f"module {subject!r} has no attribute {name!r}")
        package = import_module(places()[name])
        return getattr(package, name) if hasattr(package, name) else import_module(f"{package.__name__}.{name}")

    return load
