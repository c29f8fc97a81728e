"""docs/how-to/library.md from top to bottom, as a reader would type it."""

import os
import re
from contextlib import nullcontext
from pathlib import Path

import fake_numbers
import pytest
from scenario_tools import SHIPPED
from study_tools import on_paper

import windtunnel

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "library.md"
OF_MANY_RUNS = ("Run a study", "Search for the highest rate")
"""What is below these headings is about many runs. The page is right if they come to their end: the fake engine runs them, on paper."""
CAPACITY_PER_S = 1000


def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fake_numbers, "CAPACITY", CAPACITY_PER_S)
    os.symlink(SHIPPED, tmp_path / "scenarios")
    names: dict = {}
    heading = ""
    for head, block in re.findall(r"^## ([^\n]+)$|```python\n(.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        heading = head or heading
        with on_paper() if heading in OF_MANY_RUNS else nullcontext():
            exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert windtunnel.load(tmp_path / "runs" / "one").record.title == "L-App echo"
    assert {row["bytes"] for row in names["study"].rows} == {22, 342}
    assert names["found"].trials and names["found"].goals[0].name == "NDR"
    assert names["result"]["NDR"].conditional_throughput == pytest.approx(5.5e6, rel=0.01)
    assert "{'bytes': 22, 'runs': 2" in printed
    assert all(f"\n{name} " in printed for name in ("as it is", "batches of 8", "100 ns more"))


def test_every_public_call_has_a_docstring():
    for name in windtunnel.__all__:
        assert getattr(windtunnel, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'run_away'"):
        windtunnel.run_away  # noqa: B018
