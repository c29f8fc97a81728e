"""Which runs go on until they have settled: those of `windtunnel run`, and none whose length is another one's."""

import pytest
from scenario_tools import machine
from study_tools import PaperSupervisor, invoke, on_paper

from windtunnel.measure.execute import _is_whole
from windtunnel.measure.validity import Extension
from windtunnel.scenario import OneSide, load, resolve

ECHO = """duration = "60ms"
warmup = "20ms"
window = "20ms"
[validity]
settle = "7s"
[[workload]]
handler = "l_app"
"""
STUDY = """title = "s"
scenario = "echo.toml"
repeats = 1
metrics = ["responses_per_s"]
[[factor]]
name = "batch"
key = "server.batch.app_rx"
values = [16, 32]
"""
TWO_HOSTS = """[wire]
kind = "af_packet"
[client]
interface = "wt0"
[server]
interface = "wt1"
[[workload]]
handler = "l_app"
"""


@pytest.fixture
def extending(tmp_path, monkeypatch):
    """What decided of each run whether it goes on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(PaperSupervisor, "extending", [])
    (tmp_path / "echo.toml").write_text(ECHO)
    (tmp_path / "study.toml").write_text(STUDY)
    with on_paper():
        yield PaperSupervisor.extending


@pytest.mark.parametrize("more", [(), ("--repeat", 2)])
def test_a_run_goes_on_up_to_what_its_scenario_says(extending, more):
    invoke("run", "echo.toml", "--quiet", *more)
    assert len(extending) == (2 if more else 1)
    assert all(isinstance(each, Extension) and each.most_ns == 7 * 10**9 for each in extending)


def test_points_of_a_study_keep_their_duration(extending):
    invoke("study", "study.toml", "--quiet", "--out", "out")
    assert extending == [None, None]


def test_a_side_whose_peer_is_another_host_keeps_its_duration(tmp_path):
    (tmp_path / "two.toml").write_text(TWO_HOSTS)
    scenario, host = load(tmp_path / "two.toml"), machine(2, interfaces=("wt0", "wt1"))
    assert not _is_whole(resolve(scenario, host, OneSide("client")))
    assert _is_whole(resolve(scenario, host))
