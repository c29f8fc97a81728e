"""windtunnel.api: every name is there, and who asks for one loads nothing for the others."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from windtunnel import api

SUBJECTS = sorted(file.stem for file in Path(api.__file__).parent.glob("[a-z]*.py") if file.stem != "lazy")
HEAVY = ("duckdb", "jinja2", "numpy", "rich")


def names_of(subject: str) -> list[str]:
    tree = ast.parse((Path(api.__file__).parent / f"{subject}.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names if alias.asname]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_name_is_there_and_no_other(subject):
    module = import_module(f"windtunnel.api.{subject}")
    assert names_of(subject)
    for name in names_of(subject):
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    "loading",
    [
        "from windtunnel.api.files import read_text",
        "from windtunnel.api.documents import Document",
        "import windtunnel_sharing.guardian",
    ],
)
def test_one_name_loads_nothing_for_the_others(loading):
    """The guardian is a process of root's that waits for years."""
    program = f"{loading}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
