"""--as: formats of other tools, with and without parts that bring some."""

import pytest

from windtunnel.cli import as_option
from windtunnel.cli.texts import of_docstring

TEXT = """Show runs.

windtunnel show runs/before
windtunnel show --as FORMAT runs/FORMAT
"""


@pytest.mark.parametrize("names", [(), ("one",), ("one", "other")])
def test_an_example_of_a_format_is_there_for_each(monkeypatch, names):
    monkeypatch.setattr(as_option, "FORMATS", dict.fromkeys(names))
    examples = [f"  windtunnel show --as {name} runs/{name}" for name in names]
    assert of_docstring(TEXT)["epilog"].splitlines()[2:] == ["  windtunnel show runs/before", *examples]


@pytest.mark.parametrize("names", [(), ("one",)])
def test_without_a_format_no_help_shows_the_option(monkeypatch, names):
    monkeypatch.setattr(as_option, "FORMATS", dict.fromkeys(names))
    assert as_option.option("Another format.").hidden == (names == ())


def test_a_format_that_is_not_there_is_refused(typed):
    done = typed("show", "--as", "none")
    assert done.returncode == 2 and "'--as'" in done.stderr
