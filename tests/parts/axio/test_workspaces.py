"""Axio's groups of workspaces become workers on CPUs, and pipelines without an application packet handlers."""

import tomllib

import pytest
from axio_samples import DATA
from importing import imported, refusal
from scenario_tools import machine

from windtunnel.errors import UserError
from windtunnel.scenario import load, resolve

TOML = (DATA / "axio-server.toml").read_text()
SERVER, CLIENT = (
    "RXNIC,RXDispatcher,RxApplication,TxDispatcher,TxNIC",
    "RXNIC,RXDispatcher,RxApplication,TxApplication,TxDispatcher,TxNIC",
)
ECHO = "RXNIC,RXDispatcher,TxDispatcher,TxNIC"
LOOP = ["nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"]


def line(number, phases, groups):
    return f"workload : {number} : {phases} : 0 : {groups}\n"


def scenario(directory, text, *options):
    """The scenario as written, with its workers as CPU -> stages, and what was said; it can be placed on a host of 16 CPUs."""
    file = directory / "config"
    file.write_text(text)
    _, said = imported("axio", file, "--out", directory / "scenario.toml", *options)
    data = tomllib.loads((directory / "scenario.toml").read_text())
    resolve(load(directory / "scenario.toml"), machine(cpus=16))
    workers = {w["core"]: w["stages"] for side in ("server", "client") for w in data.get(side, {}).get("worker", [])}
    return data, workers, said


def test_groups_of_cores_are_workers(tmp_path):
    """The example of Axio's template: two dispatchers, each on the core of one of its two applications."""
    _, workers, said = scenario(tmp_path, line(0, SERVER, "0,1|2,3 : 0|2"), "--cpus", "8-11")
    assert workers == {
        8: ["nic_rx:0", "disp_rx:0", "app_rx:0", "disp_tx:0", "nic_tx:0"],
        9: ["app_rx:2"],
        10: ["nic_rx:1", "disp_rx:1", "app_rx:1", "disp_tx:1", "nic_tx:1"],
        11: ["app_rx:3"],
    }
    assert "Windtunnel chooses CPUs" not in said


def test_groups_of_unlike_numbers_have_their_own_applications(tmp_path):
    """Behind a workload with two applications, on whose number those of the next one follow."""
    text = line(0, SERVER, "0|1 : 0|1") + line(1, SERVER, "2|3,4,5 : 2|3")
    data, workers, _ = scenario(tmp_path, text, "--cpus", "8-15")
    assert data["workload"][1]["groups"] == [1, 3]
    assert workers[10] == ["nic_rx:2", "disp_rx:2", "app_rx:2", "disp_tx:2", "nic_tx:2"]
    assert workers[11] == ["nic_rx:3", "disp_rx:3", "app_rx:3", "disp_tx:3", "nic_tx:3"]
    assert (workers[12], workers[13]) == (["app_rx:4"], ["app_rx:5"])


def test_a_client_has_its_workers_too(tmp_path):
    data, workers, _ = scenario(tmp_path, line(0, CLIENT, "1 : 0"), "--cpus", "4,5")
    assert workers == {5: ["app_rx:0", "app_tx:0"], 4: ["nic_rx:0", "disp_rx:0", "disp_tx:0", "nic_tx:0"]}
    assert "worker" not in data.get("server", {})


def test_a_core_is_that_of_the_workspace(tmp_path):
    """In TOML a workspace names its core: 2 is on the sixth CPU of the node, 3 on the eighth."""
    _, workers, _ = scenario(tmp_path, TOML, "--cpus", "8-15")
    assert sorted(workers) == [8, 9, 13, 15] and workers[13][:2] == ["nic_rx:1", "disp_rx:1"]


def test_the_larger_group_is_that_of_the_first_dispatcher(tmp_path):
    """Of three applications and two dispatchers, 0 and 2 take dispatcher 0."""
    _, workers, _ = scenario(tmp_path, line(0, SERVER, "3|1-2 : 4|0"), "--cpus", "0-7")
    assert workers[0] == ["nic_rx:0", "disp_rx:0", "disp_tx:0", "nic_tx:0"]
    assert (workers[1], workers[2], workers[3]) == (["app_rx:0"], ["app_rx:2"], ["app_rx:1"])


def test_dispatchers_beside_applications_and_alone_need_cpus(tmp_path):
    text = line(0, SERVER, "0|1 : 0|2")
    assert "--cpus, with the CPUs of the node, places each workspace" in refusal(tmp_path, "axio", text)
    _, workers, _ = scenario(tmp_path, text, "--cpus", "0-2")
    assert [len(workers[cpu]) for cpu in (0, 1, 2)] == [5, 1, 4]


def test_a_dispatcher_of_two_workloads_becomes_two_on_its_cpu(tmp_path):
    text = line(0, SERVER, "0,1|2,3 : 0|2") + line(1, SERVER, "4,5 : 0")
    assert "workspace 0 serves workloads 0 and 1" in refusal(tmp_path, "axio", text)
    _, workers, said = scenario(tmp_path, text, "--cpus", "0-5")
    assert "each workload has a dispatcher of its own there, with a queue" in said
    assert workers[0] == [f"{stage}:0" for stage in LOOP] + ["nic_rx:2", "disp_rx:2", "disp_tx:2", "nic_tx:2"]
    assert (workers[4], workers[5]) == (["app_rx:4"], ["app_rx:5"])


def test_a_pipeline_without_an_application_is_a_packet_handler(tmp_path):
    text = line(0, ECHO, "0 : 0") + line(1, SERVER, "1 : 1")
    data, workers, said = scenario(tmp_path, text, "--cpus", "2,3")
    first, second = data["workload"]
    assert first["packet_handler"] == "echo" and not {"handler", "response"} & first.keys()
    assert second["handler"] == "t_app" and "packet_handler" not in second
    assert workers == {
        2: ["nic_rx:0", "disp_rx:0", "nic_tx:0"],
        3: [f"{stage}:{0 if 'app' in stage else 1}" for stage in LOOP],
    }
    assert "workload 0: a pipeline without an application is one with a packet handler" in said


def test_a_pipeline_without_the_stages_of_a_response_is_refused(tmp_path):
    assert "lacks app_rx" in refusal(tmp_path, "axio", TOML.replace("'app_rx', ", ""))


def test_roce_has_no_packet_handler_to_assume(tmp_path):
    assert "lacks app_rx" in refusal(tmp_path, "axio", line(0, ECHO, "0 : 0"), "--roce", "rc")


@pytest.mark.parametrize("cpus", ["", "x", "3-1", "0,,1", "0-9999", "-1"])
def test_what_is_no_list_of_cpus_is_refused(tmp_path, cpus):
    assert "is no CPU and no range" in refusal(tmp_path, "axio", line(0, SERVER, "0 : 0"), f"--cpus={cpus}")


def test_a_cpu_named_twice_is_refused(tmp_path):
    assert "names a CPU twice" in refusal(tmp_path, "axio", line(0, SERVER, "0 : 0"), "--cpus", "0-2,2")


def test_a_core_beyond_the_list_is_refused_with_its_line(tmp_path):
    refused = refusal(tmp_path, "axio", "numa : 0\n" + line(0, SERVER, "5 : 5"), "--cpus", "0-3")
    assert "text:2: workspace 5 is on core 5 of the node, and --cpus has 4" in refused


def test_the_option_is_for_configurations(tmp_path):
    with pytest.raises(UserError, match="--cpus is for a configuration"):
        imported("axio", DATA / "axio-server.log", "--cpus", "0", "--out", tmp_path / "run")
