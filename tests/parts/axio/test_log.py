"""Axio's log becomes a run whose numbers stand in the stages, and a run becomes Axio's table, which says the same when read."""

import json
import math
import re
from decimal import Decimal
from types import SimpleNamespace

import pytest
import sample_lines as sample
from axio_samples import DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from importing import DATA as TESTPMD
from importing import imported, refusal, run_of
from sample_runs import RUNS, execute, shown_by

from windtunnel.errors import UserError
from windtunnel.exchange.source import MAX_LISTED
from windtunnel.parts.axio import log as axio_log
from windtunnel.parts.axio.table import COLUMNS, FILLED, Table, tables_of, text_of
from windtunnel.results.run.report import write_run_report as write_report
from windtunnel.runs import Verdict
from windtunnel.runs.rows import Spread
from windtunnel.runs.summary import summarise

SERVER, CLIENT = ((DATA / f"axio-{side}.log").read_text() for side in ("server", "client"))


def stages(run) -> dict:
    return {(row.endpoint, row.stage): row for row in summarise(run).stages}


def test_the_sample_of_a_server_fills_the_stages(tmp_path):
    run = run_of(tmp_path, "axio", SERVER)
    rows = stages(run)
    assert {stage: (row.mpps, row.work_ns, row.stall_ns) for (_, stage), row in rows.items()} == {
        "nic_rx": (38.854, 103.0, None),
        "disp_rx": (20.046, 13.0, 14.0),
        "app_rx": (20.046, 21.0, 0.0),
        "app_tx": (0.0, None, None),
        "disp_tx": (20.046, 7.0, 8.0),
        "nic_tx": (20.046, 8.0, None),
    }
    assert {side for side, _ in rows} == {"server"}
    assert rows["server", "app_rx"].completion == Spread(1693.0, 2957.0, None, None, 21787.0)
    assert rows["server", "app_rx"].stall is None and rows["server", "app_tx"].completion is None
    values = {value.name: value.value for value in run.record.imported.values}
    assert values == {"tables": 1, "End-to-end": 20.046, "mbufs in use, share of the pool": 0.272515}


def test_the_sample_of_a_client_fills_the_stages(tmp_path):
    rows = stages(run_of(tmp_path, "axio", CLIENT))
    assert list(rows) == [("client", s) for s in ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")]
    first = rows["client", "app_tx"]
    assert (first.mpps, first.work_ns, first.stall_ns) == (19.464, 108.0, 3.0)
    assert first.stall == Spread(63.0, 95.814, None, None, 8289.0)
    assert first.completion == Spread(1368.0, 3456.0, None, None, 35121.0)


def test_values_missing_in_the_table_are_null(tmp_path):
    run = run_of(tmp_path, "axio", SERVER)
    document = json.loads(shown_by("--json", run.path))[0]
    assert [document[key] for key in ("memory", "wire", "accounting", "started")] == [None] * 4
    assert document["metrics"]["measured_s"] is None and document["imported"]["tool"] == "axio"
    told = {"endpoint", "stage", "mpps", "work_ns", "stall_ns", "completion", "stall"}
    for row in document["metrics"]["stages"]:
        assert {key for key, value in row.items() if value is not None} <= told


def test_every_view_marks_an_imported_run(tmp_path):
    run = run_of(tmp_path, "axio", SERVER)
    shown = shown_by(run.path)
    assert "imported from axio: text.log" in shown and "did not measure or check them" in shown
    assert "verdict" not in shown and "ledger" not in shown and "drops: not reported" in shown
    assert "imported" in shown_by(run.path, execute(tmp_path / "own", *RUNS["both sides"]).path)
    page = write_report(run.path).read_text()
    assert "imported from axio: text.log" in page and "wire None" not in page and "103.0" in page


def test_the_text_is_kept_beside_the_numbers(tmp_path):
    run = run_of(tmp_path, "axio", SERVER)
    assert (run.path / "source.txt").read_text() == SERVER and not run.problems


@pytest.mark.parametrize("spec", [name for name in RUNS if name not in ("not accounted", "packets alone")])
def test_a_run_that_is_printed_and_read_back_has_the_same_numbers(tmp_path, spec):
    own = execute(tmp_path / "own", *RUNS[spec])
    back = stages(run_of(tmp_path, "axio", shown_by("--as", "axio", own.path)))
    assert len(summarise(own).stages) > 5
    for row in summarise(own).stages:
        read = back[row.endpoint, row.stage]
        assert read.mpps == pytest.approx(row.mpps, abs=0.0006)
        whole = row.work_ns + row.stall_ns
        assert read.work_ns + (read.stall_ns or 0) == pytest.approx(whole, abs=0.6)
        if read.stall_ns is not None:
            assert read.stall_ns == pytest.approx(row.stall_ns, abs=0.6)
        if row.stage.startswith("app_") and row.completion:
            assert read.completion.maximum == pytest.approx(row.completion.maximum, abs=0.6)
            assert read.completion.mean == pytest.approx(row.completion.mean, abs=0.6)


def test_the_table_is_laid_out_as_axio_prints_it(tmp_path):
    """Columns of 20, the last one of a port's stage of 15; rules of 207."""
    lines = shown_by("--as", "axio", run_of(tmp_path, "axio", CLIENT).path).splitlines()
    assert lines[0] == "Node type: client" and lines[1] == lines[3] == lines[11] == "-" * 207
    assert [lines[2][n : n + 20].strip() for n in range(0, 200, 20)] == ["Perf Statistics", *COLUMNS]
    assert [line.split()[0] for line in lines[4:11]] == list(FILLED)
    assert [len(line) for line in lines[4:11]] == [60, 200, 200, 80, 80, 55, 55]


def test_end_to_end_and_pool_share_are_per_side(tmp_path):
    own = execute(tmp_path / "own", *RUNS["both sides"])
    back = run_of(tmp_path, "axio", shown_by("--as", "axio", own.path))
    values = {(value.of, value.name): value.value for value in back.record.imported.values}
    rows = stages(own)
    for side, last in (("client", "disp_rx"), ("server", "disp_tx")):
        assert values[side, "End-to-end"] == pytest.approx(rows[side, last].mpps, abs=0.0006)
        pools = [p for w in own.windows["windtunnel"] if w.phase == "measure" for p in w.pools if p.endpoint == side]
        used = 1 - sum(p.free for p in pools) / sum(p.size for p in pools)
        assert values[side, "mbufs in use, share of the pool"] == pytest.approx(used, abs=1e-6)


@pytest.mark.parametrize(("text", "last"), [(CLIENT, "disp_rx 19.464"), (SERVER, "disp_tx 20.046")])
def test_end_to_end_of_a_side_is_its_last_stage(tmp_path, text, last):
    """The client's at disp_rx, the server's at disp_tx."""
    unknown = re.sub("End-to-end .*", "End-to-end nan nan", text).replace(last, last[:8] + "4.000")
    lines = shown_by("--as", "axio", run_of(tmp_path, "axio", unknown).path).splitlines()
    assert next(line.split() for line in lines if line.startswith("End-to-end")) == ["End-to-end", "4.000", "0.250"]


def test_unmeasured_values_are_printed_as_dashes(tmp_path):
    own = execute(tmp_path / "own", *RUNS["packets alone"])
    lines = shown_by("--as", "axio", own.path).splitlines()
    (nic_rx,) = [line.split() for line in lines if line.startswith("nic_rx")]
    assert float(nic_rx[1]) > 0 and math.isnan(float(nic_rx[2]))


def number(largest: int, digits: int):
    return st.one_of(st.none(), st.integers(0, largest).map(lambda n: Decimal(n).scaleb(-digits)))


@st.composite
def tables(draw) -> Table:
    rows = {}
    for name, filled in FILLED.items():
        average = draw(number(10**7, 3))
        stall = None if average is None else min(average, draw(number(10**6, 3)) or Decimal(0))
        rest = [draw(number(10**8, 6 if column == 2 else 3)) for column in range(6)]
        mpps = draw(st.integers(1, 10**6)) if name == "disp_tx" else draw(st.integers(0, 10**6))
        rows[name] = (Decimal(mpps).scaleb(-3), average, stall, *rest)[:filled]
    return Table(draw(st.sampled_from(("client", "server"))), rows, draw(number(10**6, 6)))


@settings(max_examples=25, deadline=None)
@given(st.lists(tables(), min_size=1, max_size=2))
def test_a_table_that_is_printed_and_read_is_the_same_table(written):
    read, faults = tables_of(text_of(written))
    assert not faults
    assert [(t.side, t.pool_in_use) for t in read] == [(t.side, t.pool_in_use) for t in written]
    for mine, theirs in zip(read, written, strict=True):
        quantised = {name: _at_three_digits(name, row) for name, row in theirs.rows.items()}
        assert mine.rows == quantised


def _at_three_digits(name, row):
    def digits(column):
        return "0.000001" if (name, column) == ("app_tx", 5) else "0.001"

    return tuple(None if v is None else v.quantize(Decimal(digits(column))) for column, v in enumerate(row))


@settings(max_examples=10, deadline=None)
@given(tables())
def test_rows_that_are_printed_and_read_are_the_same_rows(tmp_path_factory, table):
    directory = tmp_path_factory.mktemp("axio")
    first = run_of(directory / "a", "axio", text_of([table]))
    second = run_of(directory / "b", "axio", text_of(axio_log.tables_of_run(first)))
    strip = [(r.stage, r.mpps, r.work_ns, r.stall_ns, r.stall, r.completion) for r in summarise(first).stages]
    again = [(r.stage, r.mpps, r.work_ns, r.stall_ns, r.stall, r.completion) for r in summarise(second).stages]
    assert again == strip


def log(*windows: tuple[str, str, str]) -> str:
    """A server's log; of each window app_rx's throughput, time, and mean completion of a batch."""
    return "\n".join(
        SERVER.replace("app_rx 20.046 0.021", f"app_rx {mpps} {us}").replace("1.693 2.957", f"1.693 {batch}")
        for mpps, us, batch in windows
    )


def test_windows_are_weighted_by_packets(tmp_path):
    windows = log(("10.000", "0.030", "3.000"), ("30.000", "0.010", "1.000"))
    row = stages(run_of(tmp_path, "axio", windows))["server", "app_rx"]
    assert row.mpps == pytest.approx(20.0)
    assert row.work_ns == pytest.approx((10 * 30 + 30 * 10) / 40)
    batches = (10 * 30 / 3000, 30 * 10 / 1000)
    assert row.completion.mean == pytest.approx((3000 * batches[0] + 1000 * batches[1]) / sum(batches))
    assert (row.completion.minimum, row.completion.maximum) == (1693.0, 21787.0)


def test_an_idle_window_lowers_throughput_and_no_time(tmp_path):
    still = "\n".join(f"{name} " + " ".join(["0.000"] * n) for name, n in FILLED.items() if name != "app_tx")
    head = SERVER.split("End-to-end")[0]
    app_tx = "app_tx 0.000 0.000 0.000 0.000 9999.000 0.000000(0.000000) 0.000 9999.000 0.000"
    row = stages(run_of(tmp_path, "axio", SERVER + head + app_tx + "\n" + still + "\n" + "-" * 60))["server", "app_rx"]
    assert row.mpps == pytest.approx(10.023) and row.work_ns == pytest.approx(21.0)


def test_other_messages_between_tables_are_skipped(tmp_path):
    noise = "[Workspace 0] Apply mbuf stalls: 0, dispatcher mbuf usage: 0.27\n"
    assert stages(run_of(tmp_path, "axio", noise + CLIENT + noise))["client", "app_tx"].mpps == 19.464


FAULTY = [
    ("nic_rx 38.854 0.103\n", "", "text:10: the table that begins in line 2 lacks nic_rx"),
    ("disp_rx 20.046 0.027 0.014", "disp_rx 20.046 0.027", "text:8: the row disp_rx has 2 values"),
    ("0.027 0.014", "0.027 0.x", 'text:8: disp_rx, Avg. Stall [/P]: "0.x" is not a number'),
    ("nic_tx 20.046", "nic_tx -20.046", 'text:9: nic_tx, Thpl. (Mpps): "-20.046" is not a number'),
    ("nic_tx 20.046", "nic_tx inf", 'text:9: nic_tx, Thpl. (Mpps): "inf" is not a number'),
    ("disp_tx 20.046 0.015 0.008", "disp_rx 20.046 0.015 0.008", "text:8: the row disp_rx is given twice"),
    ("disp_tx 20.046", "desp_tx 20.046", 'text:7: "desp_tx" is not a row'),
    ("0.000000(0.272515)", "0.000000", "text:5: app_tx: Avg Stall. [/B] has no share of the pool"),
    ("Avg Coml. [/B]", "Med Coml. [/B]", "text:2: the columns of the table differ"),
    ("0.027 0.014", "0.014 0.027", "text:2: table in line 2: disp_rx has a stall longer than its total"),
    ("app_rx 20.046", "app_rx\n20.046", "text:6: the row app_rx has 0 values"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), FAULTY, ids=[said[5:40] for *_, said in FAULTY])
def test_errors_are_reported_with_their_line(tmp_path, right, wrong, said):
    assert right in SERVER
    assert said in refusal(tmp_path, "axio", SERVER.replace(right, wrong))


@pytest.mark.parametrize("lines", range(2, 10))
def test_a_log_that_is_cut_off_is_refused(tmp_path, lines):
    assert "lacks" in refusal(tmp_path, "axio", "".join(SERVER.splitlines(keepends=True)[:lines]))


def test_all_errors_are_reported_at_once(tmp_path):
    said = refusal(tmp_path, "axio", SERVER.replace("0.103", "?") + CLIENT.replace("0.357", "!"))
    assert "2 faults" in said and '"?"' in said and '"!"' in said


class CountedLines(list):
    """How many of them were asked for."""

    read = 0

    def __getitem__(self, place):
        found = super().__getitem__(place)
        self.read += len(found) if isinstance(place, slice) else 1
        return found


def test_a_line_of_a_log_is_read_once_or_twice():
    """Each head once had the rest of the log copied for it: 16 MiB of heads took two minutes."""
    lines = CountedLines(["Perf Statistics " + " ".join(COLUMNS)] * 2_000)
    _, faults = tables_of(SimpleNamespace(splitlines=lambda: lines))
    assert len(faults) == MAX_LISTED + 1 and lines.read <= 2 * 2_000


def test_a_log_without_a_side_asks_for_side(tmp_path):
    still = text_of([Table(None, {name: (Decimal(0),) * n for name, n in FILLED.items()}, Decimal(0))])
    assert "--side client" in refusal(tmp_path, "axio", still)
    assert {side for side, _ in stages(run_of(tmp_path, "axio", still, "--side", "client"))} == {"client"}


def unnamed(text: str) -> str:
    """A log's table alone, which does not say whose it is."""
    [table] = tables_of(text)[0]
    return text_of([Table(None, table.rows, table.pool)]) if table.side else text


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        (unnamed(SERVER) + unnamed(CLIENT), (), "tables of both sides?"),
        (unnamed(CLIENT) + unnamed(SERVER), (), "tables of both sides?"),
        (unnamed(SERVER), ("--side", "client"), "app_tx, a stage of clients, moved nothing"),
        (unnamed(CLIENT), ("--side", "server"), "only a client has, moved packets"),
        (unnamed(CLIENT) + unnamed(SERVER), ("--side", "server"), "only a client has, moved packets"),
    ],
)
def test_tables_of_two_sides_are_refused(tmp_path, text, given, said):
    assert said in refusal(tmp_path, "axio", text, *given)


def test_a_draining_client_needs_side_client(tmp_path):
    run = run_of(tmp_path, "axio", unnamed(CLIENT) + unnamed(SERVER), "--side", "client")
    assert {side for side, _ in stages(run)} == {"client"}


def test_existing_files_stay(tmp_path):
    run = run_of(tmp_path, "axio", SERVER)
    before = (run.path / "run.json").read_bytes()
    with pytest.raises(UserError, match="exists already"):
        imported("axio", tmp_path / "text.log", "--out", run.path)
    assert (run.path / "run.json").read_bytes() == before


def test_show_as_axio_refuses_runs_without_stages(tmp_path):
    crashed = execute(tmp_path / "crashed", *RUNS["both sides"], verdict=Verdict(False, ["fell over"]))
    with pytest.raises(UserError, match="invalid: fell over"):
        shown_by("--as", "axio", crashed.path)
    assert "app_tx" in shown_by("--as", "axio", "--include-invalid", crashed.path)
    silent = execute(tmp_path / "silent", [sample.plan(level="off")], ["windtunnel"])
    with pytest.raises(UserError, match="no stage of a client or a server"):
        shown_by("--as", "axio", silent.path)
    with pytest.raises(UserError, match="exclude each other"):
        shown_by("--as", "axio", "--json", silent.path)


def test_testpmd_output_is_refused(tmp_path):
    with pytest.raises(UserError, match="neither a configuration nor a log of Axio"):
        imported("axio", TESTPMD / "testpmd-macswap.txt", "--out", tmp_path / "out")
