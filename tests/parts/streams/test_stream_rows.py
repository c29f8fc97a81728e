"""Streams: from the engine's lines to rows, tables, columns and a verdict."""

import pytest
import sample_lines as sample
from copies_samples import copy_ledger
from sample_runs import Page, execute
from streams_samples import CLIENT, SERVER, WRITE, stream_plan
from terminal_views import printed

from windtunnel.engine.history import History, SupervisedRun
from windtunnel.engine.verdict import judge
from windtunnel.measure.study.columns import metric_of, rows_of
from windtunnel.parts.streams.blocks import sections
from windtunnel.parts.streams.ledger import StreamChecks, StreamLedger
from windtunnel.parts.streams.rows import OBJECTS
from windtunnel.parts.streams.rows import rows_of as stream_rows
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.results.run.report import write_run_report
from windtunnel.results.run.validity import missing_of
from windtunnel.runs.summary import Summary, summarise

HELLO = next(line for line in sample.engine_lines(stream_plan()) if line.type == "hello")


def rows(*ledgers: StreamLedger):
    plan = stream_plan()
    windows = [line for line in sample.engine_lines(plan) if line.type == "window"]
    *_, result = sample.engine_lines(plan)
    return stream_rows(windows, HELLO, plan, result.model_copy(update={"streams": list(ledgers)})), windows


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


def test_the_table_has_both_ends():
    summary = Summary(None, *([] for _ in range(9)), parts={"streams": rows(CLIENT, SERVER)[0]})
    (section,) = sections(summary)
    shown = printed(section, 220)
    assert "client" in shown and "server" in shown and "8,388,608" in shown and "retransmitted" in shown


def written(directory):
    """A run directory of a stream."""

    def lines(plan):
        *others, result = sample.engine_lines(plan)
        return [*others, result.model_copy(update={"streams": [CLIENT, SERVER]})]

    return execute(directory, [stream_plan()], ["windtunnel"], lines=lines)


def test_every_view_has_the_stream_and_says_what_its_stages_count(tmp_path):
    run = written(tmp_path / "run")
    gbps = f"{summarise(run).parts['streams'][0].gbps:,.2f} Gbit/s"
    page = Page(write_run_report(run.path).read_text()).text
    assert gbps in page and "Streams" in page and "retransmitted" in page and "closed" in page
    assert page.count("app_tx counts writes") == 1 and "per packet, client" not in page
    shown = printed(run_document(run), 200)
    assert OBJECTS in shown and "time-outs" in shown and "8,388,608" in shown
    assert [row["timeouts"] for row in run_json(run)["metrics"]["streams"]] == [1, 1]


def test_a_study_has_columns_of_the_client_and_no_cost_of_a_packet(tmp_path):
    [row] = rows_of(written(tmp_path / "run"), {})
    assert row["stream_gbps"] == summarise(written(tmp_path / "again")).parts["streams"][0].gbps
    assert (row["stream_retransmitted"], row["stream_timeouts"], row["stream_window_probes"]) == (7, 1, 2)
    assert row["client_packet_ns"] is row["server_packet_ns"] is row["client_derived_mpps"] is None
    of, a_second = metric_of("stream_gbps")
    assert (of.noun, of.name, a_second) == ("stream", "gbps", False)


def test_missing_bytes_stand_in_the_ledgers_line(tmp_path):
    [engine] = written(tmp_path / "run").record.engines
    streams = [CLIENT.model_copy(update={"missing": 5000})]
    opened = engine.model_copy(update={"result": engine.result.model_copy(update={"streams": streams})})
    assert missing_of([engine]) == [] and missing_of([opened]) == ["5,000 bytes of echo"]


APPLICATION = "application 0 of the client, workload echo"


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
        ({"state": "reset", "acknowledged": 64}, f"stream reset: the connection of {APPLICATION}, with 64"),
        (
            {"state": "reset", "written": 0},
            "no connection: port 9000 of 10.77.0.9 has reset application 0 of the client",
        ),
        *(
            ({"state": state, "written": 0}, f"no connection: no response to {APPLICATION} from port 9000 of 10.77.0.9")
            for state in ("connecting", "idle")
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


def test_a_connection_that_was_given_up_with_its_copies_is_named_by_these():
    copies = copy_ledger(ended=7, copies=7, never_ended=2)
    reset = [ledger.model_copy(update={"state": "reset"}) for ledger in (CLIENT, SERVER)]
    [reason] = verdict(*reset, copies=[copies], reason="stream reset")
    assert reason.startswith("copies never ended: 2 of 9 that dma (dma_skeleton0) of application 0")


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
