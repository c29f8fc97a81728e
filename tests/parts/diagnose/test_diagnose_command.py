"""windtunnel diagnose: what it takes, what it prints, and its exit codes."""

import pytest
from command_line import in_process
from study_tools import on_paper

from windtunnel.parts.diagnose.model import Diagnosis


@pytest.fixture
def typed(tmp_path):
    """Types a command in the test's directory; what it runs is run on paper, without an engine's process."""
    with on_paper():
        yield lambda *arguments, **changes: in_process(*arguments, cwd=tmp_path, **changes)


@pytest.fixture
def scenario(scenario):
    """With windows enough for an interval."""
    scenario.write_text(scenario.read_text().replace("60ms", "200ms"))
    return scenario


def test_a_scenario_is_run_and_its_run_can_be_diagnosed_again(typed, scenario):
    first = typed("diagnose", scenario, "--out", "r", "--json")
    found = Diagnosis.model_validate_json(first.stdout)
    assert (first.returncode, found.run, found.windows) == (0, "r", 10)
    assert found.limit.kind == "tie", "no ledger of the fake engine closes"
    again = typed("diagnose", "r", "--json")
    assert Diagnosis.model_validate_json(again.stdout) == found


def test_tables_show_the_limit_the_workers_and_the_ledger(typed, scenario):
    done = typed("diagnose", scenario, "--out", "r")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "What limits r" and any(line.startswith("│ a tie between ") for line in lines)
    assert any("ns per message" in line for line in lines) and any("rest: the sample" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.toml"], "nothing.toml"),
        (["."], "not a run directory"),
        (["echo.toml", "--set", "server.nothing=1"], "server.nothing"),
        (["r", "--set", "duration=1s"], "take a scenario, not a run"),
        (["r", "--out", "other"], "take a scenario, not a run"),
    ],
)
def test_bad_input_is_refused(typed, tmp_path, scenario, arguments, words):
    (tmp_path / "r").mkdir()
    done = typed("diagnose", *arguments)
    assert done.returncode == 2 and words in done.stderr + done.stdout


def test_a_scenario_that_the_engine_refuses(typed, scenario):
    done = typed("diagnose", scenario, behaviour="refuse")
    assert done.returncode == 2 and "error" in done.stderr


@pytest.mark.slow
def test_an_engine_that_dies_is_diagnosed_as_invalid(scenario, tmp_path):
    done = in_process("diagnose", scenario, cwd=tmp_path, behaviour="crash")
    assert done.returncode == 0 and "what limits is not known" in done.stdout


@pytest.mark.parametrize("options", [[], ["--probe"]])
def test_code_of_a_scenario_can_be_refused(tmp_path, options):
    (tmp_path / "good.so").touch()
    (tmp_path / "test.toml").write_text('[server]\n[client]\n[[workload]]\nhandler = "./good.so"\n')
    done = in_process("diagnose", "test.toml", *options, "--no-plugins", cwd=tmp_path)
    assert done.returncode == 2 and "is code of its own" in done.stderr
