"""Streams: from the engine's lines to rows, tables, columns and a verdict."""

import pytest
import sample_lines as sample
from rich.console import Console

from windtunnel.engine.history import History
from windtunnel.engine.lines import StreamChecks, StreamLedger
from windtunnel.engine.plan import Plan, Stream
from windtunnel.engine.supervisor import SupervisedRun
from windtunnel.engine.verdict import judge
from windtunnel.runs.streams import stream_rows
from windtunnel.views.terminal.run import stream_table

WRITE = 1 << 20
CLIENT = StreamLedger(
    workload=0,
    endpoint="client",
    application=0,
    state="closed",
    written=8 * WRITE,
    acknowledged=8 * WRITE,
    buffered=0,
    missing=0,
    read=0,
    checked=None,
    sent_segments=5760,
    retransmitted_segments=7,
    timeouts=1,
    window_probes=2,
)
SERVER = CLIENT.model_copy(
    update={
        "endpoint": "server",
        "written": 0,
        "acknowledged": 0,
        "read": 8 * WRITE,
        "checked": StreamChecks(bytes=8 * WRITE, wrong_bytes=0, first_wrong=None),
        "sent_segments": 2,
    }
)


def stream_plan() -> Plan:
    made = sample.plan()
    [workload], client = made.workloads, made.endpoints[0]
    stream = Stream(
        write_bytes=WRITE,
        send_buffer_bytes=4 * WRITE,
        receive_buffer_bytes=4 * WRITE,
        read_bytes=65536,
        congestion="cubic",
        checksums=True,
    )
    workload = workload.model_copy(update={"stream": stream, "handler": None})
    client = client.model_copy(update={"peer_ip": "10.77.0.9", "peer_udp_port": 9000})
    return made.model_copy(update={"workloads": [workload], "endpoints": [client, *made.endpoints[1:]]})


def rows(*ledgers: StreamLedger):
    plan = stream_plan()
    windows = [line for line in sample.engine_lines(plan) if line.type == "window"]
    return stream_rows(windows, plan, ledgers), windows


def test_rows_follow_the_formulas():
    (client, server), windows = rows(SERVER, CLIENT)
    measured = [window for window in windows if window.phase == "measure"]
    writes = sum(each.responses for window in measured for each in window.workloads)
    lasted_s = sum(window.end_ns - window.start_ns for window in measured) / 1e9
    assert client.gbps == pytest.approx(writes * WRITE * 8e-9 / lasted_s)
    assert (client.endpoint, client.written, client.read, client.checked) == ("client", 8 * WRITE, 0, None)
    assert (client.retransmitted_segments, client.timeouts, client.window_probes) == (7, 1, 2)
    assert (server.endpoint, server.gbps, server.written, server.read) == ("server", None, None, 8 * WRITE)
    assert (server.checked, server.wrong) == (8 * WRITE, 0)


def test_connections_of_one_end_are_added_and_their_states_named():
    (both,), _ = rows(CLIENT, CLIENT.model_copy(update={"application": 1, "state": "open", "buffered": 64}))
    assert (both.acknowledged, both.buffered, both.state) == (16 * WRITE, 64, "closed, open")


def test_without_a_result_there_are_no_rows():
    assert rows()[0] == []


def test_the_table_has_both_ends(capsys):
    Console(width=220).print(stream_table(rows(CLIENT, SERVER)[0]))
    shown = capsys.readouterr().out
    assert "client" in shown and "server" in shown and "8,388,608" in shown and "retransmitted" in shown


def verdict(*streams: StreamLedger, interrupted: bool = False, **changes) -> list[str]:
    plan = stream_plan()
    result = sample.engine_lines(plan)[-1].model_copy(update={"streams": list(streams)} | changes)
    history = History("windtunnel", plan, ready=True, measured=5, result=result, exit_code=0, ended_at=1.0)
    return judge(SupervisedRun([history], interrupted=interrupted)).reasons


def test_a_closed_account_is_valid():
    assert verdict(CLIENT, SERVER) == []


def test_missing_bytes_open_the_ledger():
    [reason] = verdict(CLIENT.model_copy(update={"missing": 64, "acknowledged": 8 * WRITE - 128, "buffered": 64}))
    assert reason == (
        "ledger open: 64 bytes missing of 8388608 that application 0 of the client, workload echo, wrote "
        "(acknowledged 8388480, buffered 64)"
    )


def test_wrong_bytes_are_named_with_the_first_one():
    wrong = StreamChecks(bytes=1000, wrong_bytes=3, first_wrong=0)
    [reason] = verdict(CLIENT, SERVER.model_copy(update={"checked": wrong}))
    assert reason == (
        "copies wrong: 3 of 1000 bytes that application 0 of the server, workload echo, read, the first at byte 0 of the stream"
    )


@pytest.mark.parametrize(
    ("ledger", "words"),
    [
        (
            {"state": "reset", "acknowledged": 64},
            "stream reset: the connection of application 0 of the client, workload echo, with 64",
        ),
        (
            {"state": "reset", "written": 0},
            "no connection: port 9000 of 10.77.0.9 has reset application 0 of the client",
        ),
        (
            {"state": "connecting", "written": 0},
            "no connection: no response to application 0 of the client, workload echo from port 9000 of 10.77.0.9",
        ),
        (
            {"state": "idle", "written": 0},
            "no connection: no response to application 0 of the client, workload echo from port 9000 of 10.77.0.9",
        ),
    ],
)
def test_a_connection_that_was_lost_is_the_only_reason(ledger, words):
    lost = CLIENT.model_copy(update=ledger)
    responses = [
        message.model_copy(update={"responses": 0}) for message in sample.engine_lines(stream_plan())[-1].messages
    ]
    [reason] = verdict(lost, reason="stream reset", messages=responses)
    assert reason.startswith(words)


def test_a_server_names_what_it_had_read():
    [reason] = verdict(SERVER.model_copy(update={"state": "reset"}), reason="stream reset")
    assert (
        reason == "stream reset: the connection of application 0 of the server, workload echo, with 8388608 bytes read"
    )


def test_a_run_that_was_interrupted_while_it_connected_lacks_no_connection():
    [reason] = verdict(CLIENT.model_copy(update={"state": "connecting"}), interrupted=True, reason="stopped")
    assert reason == "stopped before the end: interrupted by the user"


@pytest.mark.parametrize("state", ["open", "finishing", "peer finished"])
def test_bytes_that_the_drain_did_not_wait_for_are_buffered_and_no_fault(state):
    assert verdict(CLIENT.model_copy(update={"state": state, "buffered": 64, "acknowledged": 8 * WRITE - 64})) == []
