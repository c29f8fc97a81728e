"""Pipelines of Axio that only send or only receive become one side alone on the wire `null`, and measure just that."""

import tomllib

import pytest
from axio_samples import DATA
from importing import imported, refusal
from real_runs import messages, run_well, stages
from scenario_tools import machine

from windtunnel.scenario import load, resolve

TOML = (DATA / "axio-server.toml").read_text()
SENDS, RECEIVES = "TxApplication,TxDispatcher,TxNIC", "RXNIC,RXDispatcher"
LINE = "workload : {} : {} : 0 : {} : {}\n"
SHORT = ("duration=300ms", "warmup=10ms", "window=50ms")


def scenario(directory, text, *options):
    (directory / "config").write_text(text)
    _, said = imported("axio", directory / "config", "--out", directory / "scenario.toml", *options)
    data = tomllib.loads((directory / "scenario.toml").read_text())
    resolve(load(directory / "scenario.toml"), machine(cpus=16))
    return data, said


def test_a_pipeline_that_only_sends_is_a_client_alone_with_a_rate(tmp_path):
    text = LINE.format(1, SENDS, "0", "0") + LINE.format(2, SENDS, "1", "1")
    data, said = scenario(tmp_path, f"local_ip : 192.0.2.1\nremote_ip : 192.0.2.2\n{text}", "--rate", "4Mpps")
    assert data["wire"] == {"kind": "null"} and "server" not in data
    # in 1 ms, twice as many as the rate has
    assert data["client"] == {"cores": "auto", "ip": "192.0.2.1", "rate": "4Mpps", "inflight": 8000}
    assert [(w["request"], w["timeout"]) for w in data["workload"]] == [(982, "1ms")] * 2
    assert 'remote_ip = "192.0.2.2": nobody is at the other end' in said
    assert not any({"response", "inflight", "extra_ticks"} & workload.keys() for workload in data["workload"])


def test_its_rate_is_the_users(tmp_path):
    text = LINE.format(1, SENDS, "0", "0")
    assert "text:1: workload 1 only sends: Axio sends as fast as it can" in refusal(tmp_path, "axio", text)
    assert "--rate: " in refusal(tmp_path, "axio", text, "--rate", "fast")
    assert "client.rate" in refusal(tmp_path, "axio", text, "--rate", "999999999Mpps")
    both = LINE.format(1, "RXNIC,RXDispatcher,RxApplication,TxDispatcher,TxNIC", "0", "0")
    assert "--rate 1Mpps is given, and no pipeline" in refusal(tmp_path, "axio", both, "--rate", "1Mpps")


def test_a_pipeline_that_only_receives_is_a_server_alone(tmp_path):
    pipeline = "pipeline = [ 'nic_rx', 'dispatcher_rx' ]"
    before = next(line for line in TOML.split("\n") if line.startswith("pipeline"))
    data, said = scenario(tmp_path, TOML.replace(before, pipeline))
    assert data["wire"] == {"kind": "null", "packet": 86 + 42} and "client" not in data
    [workload] = data["workload"]
    assert workload["packet_handler"] == "drop" and not {"handler", "request", "response", "inflight"} & workload.keys()
    for name in ("remote_ip", "message_handler", "response_payload_bytes", "app_ticks_per_message", "apply_new_mbuf"):
        assert f"{name} = " in said
    wrong = TOML.replace(before, pipeline).replace("request_payload_bytes = 86", "request_payload_bytes = 'x'")
    assert 'request_payload_bytes: "x"' in refusal(tmp_path, "axio", wrong)
    (tmp_path / "small").mkdir()
    small = TOML.replace(before, pipeline).replace("request_payload_bytes = 86", "request_payload_bytes = 16")
    assert scenario(tmp_path / "small", small)[0]["wire"]["packet"] == 60


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LINE.format(1, f"{RECEIVES},RxApplication", "0", "0"), "lacks disp_tx, nic_tx"),
        (LINE.format(1, SENDS, "0", "0") + LINE.format(2, RECEIVES, "1", "1"), "lacks app_rx, disp_rx, nic_rx"),
        (LINE.format(1, SENDS.replace("TxNIC", "RXNIC"), "0", "0"), "the client here cannot"),
    ],
)
def test_other_parts_of_a_pipeline_are_refused(tmp_path, text, told):
    refused = refusal(tmp_path, "axio", text, "--rate", "1Mpps")
    assert told in refused and "alone, in all workloads" in refused


def test_its_workers_run_what_it_lacks_too(tmp_path):
    data, _ = scenario(tmp_path, LINE.format(1, SENDS, "1", "0"), "--rate", "1Mpps", "--cpus", "8,9")
    workers = {worker["core"]: worker["stages"] for worker in data["client"]["worker"]}
    assert workers == {9: ["app_tx:0", "app_rx:0"], 8: ["disp_tx:0", "nic_tx:0", "nic_rx:0", "disp_rx:0"]}
    (tmp_path / "server").mkdir()
    data, _ = scenario(tmp_path / "server", LINE.format(1, RECEIVES, "0|1", "0|1"), "--cpus", "8,9")
    assert [worker["stages"] for worker in data["server"]["worker"]] == [
        ["nic_rx:0", "disp_rx:0", "nic_tx:0"],
        ["nic_rx:1", "disp_rx:1", "nic_tx:1"],
    ]


def test_no_space_is_written_of_it(tmp_path):
    text = LINE.format(1, RECEIVES, "0|1", "0|1")
    assert "a tuner counts responses" in refusal(tmp_path, "axio", text, "--space", tmp_path / "space.toml")


@pytest.mark.slow
def test_each_runs_and_moves_just_that(tmp_path):
    scenario(tmp_path, LINE.format(1, SENDS, "0", "0"), "--rate", "20kpps")
    run = run_well(tmp_path, tmp_path / "scenario.toml", *SHORT)
    sent = {
        stage: sum(entry.objects for entry in stages(run, "client", stage)) for stage in ("app_tx", "nic_tx", "app_rx")
    }
    assert sent["app_tx"] == sent["nic_tx"] > 0 and sent["app_rx"] == 0
    assert messages(run).responses == 0
    (tmp_path / "server").mkdir()
    scenario(tmp_path / "server", LINE.format(1, RECEIVES, "0", "0"))
    run = run_well(tmp_path / "server", tmp_path / "server" / "scenario.toml", *SHORT)
    got = {
        stage: sum(entry.objects for entry in stages(run, "server", stage)) for stage in ("nic_rx", "disp_rx", "nic_tx")
    }
    assert got["nic_rx"] == got["disp_rx"] > 0 and got["nic_tx"] == 0
