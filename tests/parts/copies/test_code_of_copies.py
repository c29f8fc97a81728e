"""What a workload with copies brings of code: it is named, and opened only for a run or its check."""

import json

import pytest
from command_line import SCENARIO
from scenario_tools import engine
from study_tools import HEAD, ONE_FACTOR, written

from windtunnel.measure.study import definition, design
from windtunnel.parts.ui.edit.scenario_check import check

HANDLERS = [
    {"name": name, "kind": "message", "help": "", "options": [], "names_copies": False, "checks": False}
    for name in ("l_app", "t_app")
]


@pytest.fixture(autouse=True, scope="module")
def no_engine():
    """What an engine says is what these tests are about."""


@pytest.fixture
def opened(tmp_path):
    """What an engine was asked to open."""
    script, file = tmp_path / "engine", tmp_path / "opened"
    script.write_text(
        f'#!/bin/sh\n[ "$2" ] && echo "$1 $3" >> {file}\n'
        f"case $1 in --copiers) echo '[]';; *) echo '{json.dumps(HANDLERS)}';; esac\n"
    )
    script.chmod(0o755)
    (tmp_path / "mine.so").touch()
    with engine(str(script)):
        yield file


def test_a_page_asks_no_handler_whether_it_names_copies(tmp_path, opened):
    text = SCENARIO.format(duration="1s").replace('"l_app"', '"./mine.so"') + "[workload.copies]\nverify = true\n"
    found = check(tmp_path / "sent.toml", text, tmp_path, came_with_run=False, opens=False)
    assert (found.problem, found.not_yet) == (None, "The check runs ./mine.so as you.")
    assert not opened.exists()


def test_a_study_asks_no_handler_of_its_points_whether_it_names_copies(tmp_path, opened):
    factors = '\n[[factor]]\nkey = "workload.0.copies.depth"\nvalues = [32]\n'
    factors += '\n[[factor]]\nkey = "workload.0.handler"\nvalues = ["./mine.so"]\n'
    file = written(tmp_path, ONE_FACTOR.replace("32, 64, 128", "64") + factors, HEAD + "repeats = 1\n")
    assert design.code_of(definition.read(file), []) == ["./mine.so"]
    assert not opened.exists()
