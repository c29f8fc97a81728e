"""docs/how-to/library.md from top to bottom, as a reader would type it."""

import os
import re
from pathlib import Path

import pytest
from scenario_tools import SHIPPED

import windtunnel

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "library.md"


def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    os.symlink(SHIPPED, tmp_path / "scenarios")
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
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
