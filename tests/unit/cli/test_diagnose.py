"""windtunnel diagnose: what it takes, what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest
from command_line import SCENARIO, windtunnel

from windtunnel.diagnose import Diagnosis

LOG = Path(__file__).parents[2] / "support" / "data" / "axio-server.log"

pytestmark = pytest.mark.slow


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "echo.toml"
    file.write_text(SCENARIO.format(duration="200ms"))
    return file


def test_a_scenario_is_run_and_its_run_can_be_diagnosed_again(tmp_path, scenario):
    first = windtunnel("diagnose", scenario, "--out", "r", "--json", cwd=tmp_path)
    found = Diagnosis.model_validate_json(first.stdout)
    assert (first.returncode, found.run, found.windows) == (0, "r", 10)
    assert found.limit.kind == "tie", "no ledger of the fake engine closes"
    again = windtunnel("diagnose", "r", "--json", cwd=tmp_path)
    assert Diagnosis.model_validate_json(again.stdout) == found


def test_tables_show_the_limit_the_workers_and_the_ledger(tmp_path, scenario):
    done = windtunnel("diagnose", scenario, "--out", "r", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("a tie between ")
    assert any("ns a message" in line for line in lines) and any("rest: the sample" in line for line in lines)


def test_axio_is_quoted_with_ours_beside_it(tmp_path):
    assert windtunnel("import", "axio", LOG, "--out", "r", cwd=tmp_path).returncode == 0
    done = windtunnel("diagnose", "r", "--as", "axio", cwd=tmp_path)
    first, second, *_ = done.stdout.splitlines()
    assert done.returncode == 0 and "disp_rx" in first and first.endswith("C1")
    assert "rounding could turn it" in second
    both = json.loads(windtunnel("diagnose", "r", "--as", "axio", "--json", cwd=tmp_path).stdout)
    assert both["axio"][0]["contention"] == "C1" and both["limit"]["kind"] == "unknown"


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
def test_bad_input_is_refused(tmp_path, scenario, arguments, words):
    (tmp_path / "r").mkdir()
    done = windtunnel("diagnose", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr + done.stdout


def test_a_scenario_that_the_engine_refuses(tmp_path, scenario):
    done = windtunnel("diagnose", scenario, cwd=tmp_path, behaviour="refuse")
    assert done.returncode == 2 and "error" in done.stderr


def test_an_engine_that_dies_is_diagnosed_as_invalid(tmp_path, scenario):
    done = windtunnel("diagnose", scenario, "--out", "r", cwd=tmp_path, behaviour="crash")
    assert done.returncode == 0 and "what limits is not known" in done.stdout
