"""A text is checked in the words of `windtunnel check`, and its placement is shown."""

import pytest
from command_line import SCENARIO, in_process
from fake_runs import FAKE

from windtunnel.engine import find
from windtunnel.parts.ui.edit import scenario_check
from windtunnel.parts.ui.edit.scenario_check import check
from windtunnel.scenario.load import MAX_FILE_BYTES

VALID = SCENARIO.format(duration="1s")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(find.VARIABLE, str(FAKE))
    return tmp_path / "mine.toml"


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("inflight", "infligth", 11),
        ('kind = "ring"', "kind = ring", 8),
        ("1024", "0", 11),
        ("request = 86", "request = 1", 17),
        ('"l_app"', '"./none.so"', 16),
        ('"l_app"', '"lapp"', 16),
    ],
)
def test_the_words_are_those_of_check(place, old, new, line):
    text = VALID.replace(old, new)
    found = check(place, text, place.parent, came_with_run=False, opens=True)
    place.write_text(text)
    said = in_process("check", "mine.toml", cwd=place.parent)
    assert said.returncode == 2
    assert found.line == line
    assert found.problem.startswith(f"mine.toml:{line}: ")
    plain = " ".join(said.stderr.split())
    assert " ".join(found.problem.replace(str(place.parent), ".").split())[:60] in plain.replace(str(place.parent), ".")
    assert found.remedy.split()[0] in plain


def test_the_placement_says_stage_cpu_node_and_queue(place):
    found = check(
        place, VALID.replace("[server]", "[server]\nport = 9100"), place.parent, came_with_run=False, opens=True
    )
    assert found.problem is None
    placed = {side.side: (node.node, cpu.cpu, side) for node in found.nodes for cpu in node.cpus for side in cpu.sides}
    assert set(placed) == {"client", "server"}
    assert "app_rx:0" in placed["server"][2].stages
    assert placed["server"][2].queues == ["queue 0, UDP port 9100"]
    assert found.wires == ("wire ring, 1 queue",)
    assert {"traffic", "mbufs", "memory"} <= {label for label, _ in found.facts}
    assert found.unchecked is None


def test_without_an_engine_it_says_what_was_not_checked(place, monkeypatch):
    monkeypatch.setenv(find.VARIABLE, "/no/engine")
    found = check(place, VALID, place.parent, came_with_run=False, opens=True)
    assert found.problem is None
    assert "/no/engine" in found.unchecked


@pytest.mark.parametrize("text", ["x" * (MAX_FILE_BYTES + 1), "", "\udcff", "title = " + "[" * 5000, "\0"])
def test_hostile_texts_are_refused_in_words(place, text):
    assert check(place, text, place.parent, came_with_run=False, opens=True).problem


def test_code_is_opened_after_a_question_alone(place, monkeypatch):
    def never(*_):
        raise AssertionError("resolved")

    monkeypatch.setattr(scenario_check, "resolve", never)
    plugin = check(place, VALID.replace('"l_app"', '"./mine.so"'), place.parent, came_with_run=False, opens=False)
    assert plugin.not_yet == "The check runs ./mine.so as you."
    assert plugin.problem is None
    assert "came with a run" in check(place, VALID, place.parent, came_with_run=True, opens=False).not_yet
    wrong = check(place, VALID.replace("inflight", "infligth"), place.parent, came_with_run=True, opens=False)
    assert wrong.line == 11  # keys are looked at before
