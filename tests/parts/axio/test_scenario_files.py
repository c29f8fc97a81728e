"""A scenario in Axio's colon form: what is written is read back by the importer."""

import os

import pytest
from fake_runs import FAKE
from scenario_tools import engine, loaded

from windtunnel.errors import UserError
from windtunnel.exchange.source import Foreign
from windtunnel.parts.axio.config import read_config
from windtunnel.parts.axio.scenario import scenario_text
from windtunnel.parts.axio.scenario_files import out_texts, write_axio

SCENARIO = """\
[client]
inflight = 256

[[workload]]
handler = "l_app"
"""
FILES = {"client": "send_config.out", "server": "recv_config.out"}
PHASES = {
    "client": "TxApplication,TxDispatcher,TxNIC,RXNIC,RXDispatcher,RxApplication",
    "server": "RXNIC,RXDispatcher,RxApplication,TxDispatcher,TxNIC",
}


@pytest.fixture(autouse=True)
def fake():
    with engine(str(FAKE)):
        yield


def texts(tmp_path, more="", *sets):
    return out_texts(loaded(tmp_path, SCENARIO + more, *sets))


def test_batches_counts_and_workspaces_are_written_for_each_side(tmp_path):
    changes = ("server.batch.disp_rx=128", "client.batch.app_tx=8", "duration=3s")
    found = texts(tmp_path, "apps = 4\ndispatchers = 2\n", *changes)
    assert found.keys() == {"send_config.out", "recv_config.out"}
    server, client = found["recv_config.out"].splitlines(), found["send_config.out"].splitlines()
    assert server[1:9] == [
        "kAppCoreNum : 4",
        "kDispQueueNum : 2",
        "kAppRxMsgBatchSize : 32",
        "kAppTxMsgBatchSize : 32",
        "kDispRxBatchSize : 128",
        "kDispTxBatchSize : 32",
        "kNICRxPostSize : 32",
        "kNICTxPostSize : 32",
    ]
    for side, phases in ((server, PHASES["server"]), (client, PHASES["client"])):
        assert f"workload : 1 : {phases} : 0,1 : 0,2|1,3 : 0|1" in side
    assert "kAppTxMsgBatchSize : 8" in client and "iteration : 3" in client and "duration : 1" in client
    assert "local_mac : 02.77.74.00.00.02" in server and "remote_ip : 10.77.0.1" in server


@pytest.mark.parametrize("colocate", ["true", "false"])
@pytest.mark.parametrize("side", ["client", "server"])
def test_the_importer_reads_it_back(tmp_path, side, colocate):
    more = f"apps = 3\ndispatchers = 2\ncolocate = {colocate}\n"
    text = texts(tmp_path, more, f"{side}.batch.nic_rx=64")[FILES[side]]
    foreign = Foreign(tmp_path / "axio.out", text)
    config = read_config(foreign)
    assert config is not None and not config.faults
    back = tmp_path / "back.toml"
    back.write_text(scenario_text(foreign, config, side)[0])
    scenario = loaded(tmp_path, back.read_text())
    (workload,) = scenario.workload
    assert (workload.apps, workload.dispatchers, workload.colocate) == (3, 2, colocate == "true")
    assert getattr(scenario, side).batch.nic_rx == 64
    assert (scenario.client.ip, scenario.server.mac) == ("10.77.0.1", "02:77:74:00:00:02")


def test_two_workloads_have_workspaces_of_their_own(tmp_path):
    text = texts(tmp_path, 'colocate = false\n[[workload]]\nname = "b"\nhandler = "m_app"\n')["recv_config.out"]
    lines = [line.split(" : ")[3:] for line in text.splitlines() if line.startswith("workload")]
    assert lines == [["1", "0", "1"], ["2", "2", "2"]]


def test_more_dispatchers_than_applications_are_refused(tmp_path):
    with pytest.raises(UserError, match="in Axio an application has one dispatcher"):
        texts(tmp_path, "apps = 1\ndispatchers = 2\n")


def test_what_stands_beside_the_file_is_read_to_a_bound(tmp_path):
    """Somebody may have sent the directory: a FIFO there would be waited for, and a file without end read."""
    file = tmp_path / "best.toml"
    file.write_text(SCENARIO)
    assert len(write_axio(file)) == 2 and len(write_axio(file)) == 2, "what is there already is the same"
    fifo = tmp_path / "send_config.out"
    fifo.unlink()
    os.mkfifo(fifo)
    with pytest.raises(UserError, match="not a regular file"):
        write_axio(file)
