"""Runs that are held, stopped and killed while a copier makes copies of responses: each ends in words, and leaves nothing behind."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from fake_runs import gone
from real_runs import PATIENT
from scenario_tools import LENIENT, written

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.leftovers import runtime_directory
from windtunnel.engine.lines import Hello
from windtunnel.engine.turns import Turns
from windtunnel.engine.windows import Window
from windtunnel.host import facts
from windtunnel.measure.execute import RunOutcome, execute
from windtunnel.parts.copies.ledger import CopyLedger, VerifiedLedger
from windtunnel.runs import Run
from windtunnel.runs import load as load_run
from windtunnel.runs.summary import summarise
from windtunnel.scenario import RunSpec, here, load, resolve

pytestmark = pytest.mark.slow

RESPONSE = 32 << 10
WINDOWS = 7
"""Too few for a judgement of whether the rate settled, which is the host's here."""
SHORT = {"warmup": "20ms", "window": "25ms", "duration": f"{WINDOWS * 25}ms"}
LATE = {"engine": "planted", "options": {"engine": "dma", "fault": "late", "share": "1", "late_us": 3000}}
"""Copies run at every moment: they end 3 ms late."""


def naming(directory, copies: dict, *sets: str, **keys) -> RunSpec:
    """Responses whose copies fs_read names, and of which the client checks every byte."""
    workload = {"handler": "fs_read", "request": 86, "response": RESPONSE, "options": {"file": "1MiB"}}
    data = SHORT | {"client": {"inflight": 64}} | keys
    data |= {"workload": [workload | {"copies": {"verify": True} | copies}]}
    directory.mkdir(exist_ok=True)
    return resolve(load(written(directory, data), [*LENIENT, *PATIENT, *sets]), here())


def run_with(spec: RunSpec, directory, at_window) -> RunOutcome:
    """`at_window` gets the processes of the engines by name, once, after the third measured window."""
    pids, seen = {}, []

    def listen(name, line, raw):
        if isinstance(line, Hello):
            pids[name] = line.pid
        if isinstance(line, Window) and line.phase == "measure":
            seen.append(line)
            if len(seen) == 3:
                at_window(pids)

    with Interrupts() as interrupts:
        ended = execute(spec, directory, interrupts, [listen])
    assert all(gone(pid) for pid in pids.values())
    return ended


def by_turns(directory, copies: dict, *sets: str) -> tuple[list[RunOutcome], str]:
    """Two runs, a window each in turn, and the sides of the windows in their order."""
    heard, host = [], facts.collect()

    def one(side, place, interrupts):
        def listen(name, line, raw):
            if isinstance(line, Window) and line.phase == "measure":
                heard.append(side)

        spec = naming(directory / f"{side}-scenario", copies, *sets)
        with turns.taking(place):
            return execute(spec, directory / side, interrupts, [place.line, listen], host, place)

    with Interrupts() as interrupts, Turns() as turns, ThreadPoolExecutor(2) as pool:
        running = [
            pool.submit(one, side, place, interrupts) for side, place in (("a", turns.first), ("b", turns.second))
        ]
    return [ended.result() for ended in running], "".join(heard)


def copies_of(run: Run) -> CopyLedger:
    [ledger] = [ledger for engine in run.record.engines for ledger in engine.result.copies]
    return ledger


def verified(run: Run) -> VerifiedLedger:
    [ledger] = [ledger for engine in run.record.engines for ledger in engine.result.verified]
    return ledger


def assert_closed(run: Run) -> CopyLedger:
    """Every copy that was started ended, every byte was right, every mbuf and message is accounted for."""
    ledger, checked = copies_of(run), verified(run)
    assert ledger.endpoint == "server" and checked.endpoint == "client"
    assert ledger.submitted == ledger.ended and ledger.never_ended == ledger.missing == 0
    assert 0 < checked.packets <= ledger.copies and checked.wrong_packets == 0
    for engine in run.record.engines:
        assert all(ledger.missing == 0 for ledger in (*engine.result.mbufs, *engine.result.messages))
    return ledger


def assert_nothing_left(run: Run) -> None:
    prefixes = [engine.plan.eal.file_prefix for engine in run.record.engines]
    assert prefixes and not any((runtime_directory() / "dpdk" / prefix).exists() for prefix in prefixes)


@pytest.mark.parametrize("copies", [LATE, {"engine": "dma"}], ids=["late", "dma"])
def test_copies_end_before_a_run_is_held_and_none_is_lost_by_it(tmp_path, copies):
    ended, order = by_turns(tmp_path, copies)
    assert "ababab" in order
    for each in ended:
        run = each.kept_run()
        assert each.verdict.reasons == []
        assert_closed(run)
        windows = run.windows["windtunnel"]
        assert all(before.end_ns == after.start_ns for before, after in pairwise(windows))
        finished = [window for window in windows if window.phase == "measure"]
        assert len(finished) == WINDOWS and all(part.copies > 0 for window in finished for part in window.copies)
        assert_nothing_left(run)


def test_a_copier_that_is_silent_under_holds_makes_its_run_invalid_and_not_the_other(tmp_path):
    silent = {"engine": "planted", "options": {"fault": "silent", "share": "0.005"}, "timeout": "10ms"}
    ended, _ = by_turns(tmp_path, silent, "workload.0.timeout=50ms", "drain=500ms")
    for each in ended:
        run = each.kept_run()
        ledger = copies_of(run)
        assert 0 < ledger.never_ended <= 64 and ledger.missing == 0
        never_ended = f"copies never ended: {ledger.never_ended} of {ledger.submitted} that planted"
        assert any(reason.startswith(never_ended) for reason in each.verdict.reasons), each.verdict.reasons
        assert ledger.by_cpu["gave_up"] > 0 and verified(run).wrong_packets == 0
        assert len([window for window in run.windows["windtunnel"] if window.phase == "measure"]) == WINDOWS
        assert_nothing_left(run)


@pytest.mark.parametrize("copies", [LATE, {"engine": "dma"}], ids=["late", "dma"])
def test_ctrl_c_while_copies_run_closes_the_ledgers(tmp_path, copies):
    spec = naming(tmp_path, copies, duration="60s")
    ended = run_with(spec, tmp_path / "run", lambda pids: os.kill(os.getpid(), signal.SIGINT))
    assert (ended.exit_code, ended.interrupted) == (130, True)
    run = load_run(ended.kept_run().path)
    assert run.problems == [] and run.record.finished
    assert run.record.verdict.reasons == ["stopped before the end: interrupted by the user"]
    assert assert_closed(run).cpu_copies is not None
    assert_nothing_left(run)


def test_an_engine_that_is_killed_while_copies_run_leaves_nothing_behind(tmp_path):
    spec = naming(tmp_path, LATE, duration="60s")
    ended = run_with(spec, tmp_path / "run", lambda pids: os.kill(pids["windtunnel"], signal.SIGKILL))
    run = load_run(ended.kept_run().path)
    assert run.problems == [] and run.record.finished and not run.record.verdict.valid
    assert run.record.verdict.reasons[0].startswith("engine died: SIGKILL")
    [row] = summarise(run).parts["copies"]
    assert row.copies > 0 and row.kind is row.freed_cycles is row.freed_share is None, "it told no costs any more"
    assert_nothing_left(run)


@pytest.mark.parametrize("victim", ["server", "client"])
def test_the_end_of_a_memif_whose_other_end_is_killed_while_copies_run_says_so(tmp_path, victim):
    spec = naming(tmp_path, LATE, duration="60s", wire={"kind": "memif"})
    ended = run_with(spec, tmp_path / "run", lambda pids: os.kill(pids[victim], signal.SIGKILL))
    survivor = {"server": "client", "client": "server"}[victim]
    run = load_run(ended.kept_run().path)
    assert run.problems == [] and run.record.finished
    reasons = run.record.verdict.reasons
    assert any(r.startswith("engine died: SIGKILL") and r.endswith(f"[{victim}]") for r in reasons), reasons
    lost = ("peer lost: ", "engine died: SIGSEGV after peer loss")
    assert any(reason.startswith(lost) and reason.endswith(f"[{survivor}]") for reason in reasons)
    assert_nothing_left(run)
