"""Copies: from the engine's lines to rows, tables, the page, a verdict, and what may be compared."""

import pytest
import sample_lines as sample
from copies_samples import copy_ledger
from sample_records import record
from sample_windows import HELLO, window, worker
from terminal_views import printed

from windtunnel.engine.history import History, SupervisedRun
from windtunnel.engine.plan import Plan
from windtunnel.engine.verdict import judge
from windtunnel.engine.windows import StepWindow
from windtunnel.parts.copies.blocks import sections
from windtunnel.parts.copies.ledger import CpuCopies, CpuCopy, DriverCopies, VerifiedLedger, WrongByte
from windtunnel.parts.copies.plan import Copies, Source
from windtunnel.parts.copies.rows import rows_of as copy_rows
from windtunnel.parts.copies.window import CopyWindow
from windtunnel.runs.identity import identity
from windtunnel.runs.record import EngineRecord, Record
from windtunnel.runs.summary import Summary

TICK_NS = 0.5
"""HELLO's clock has 2 GHz."""
COSTS = [CpuCopy(bytes=1000, cycles=400), CpuCopy(bytes=2000, cycles=1000)]
LEDGER = copy_ledger(
    cpu_copies=CpuCopies(from_bytes=1 << 20, to_places=64, costs=COSTS),
    submitted=1000,
    ended=1000,
    copies=990,
    by_cpu={"failed": 10},
    bytes=1_000_000,
    driver=DriverCopies(submitted=1000, completed=1000, errors=10),
)
VERIFIED = VerifiedLedger(workload=0, application=0, packets=1000, wrong_packets=0, wrong_bytes=0, first=None)


def copying_plan(**about) -> Plan:
    made = sample.plan()
    keys = {"engine": "dma", "options": {}, "depth": 64, "batch": 32, "way": "pipelined", "at_least_bytes": 0}
    keys |= {"verify": True, "timeout_ns": 10**9, "lcores": [3]} | about
    [workload] = made.workloads
    source = Source(bytes=1 << 20, order="hot")
    return made.model_copy(
        update={"workloads": [workload.model_copy(update={"source": source, "copies": Copies(**keys)})]}
    )


def part(application: int = 0, worker_: int = 0, **about) -> CopyWindow:
    keys = {"copies": 100, "by_cpu": {}, "uncopied": 0, "bytes": 125_000, "completion": sample.histogram([2000] * 100)}
    keys["sizes"] = sample.histogram([1250] * 100)
    return CopyWindow(workload=0, application=application, worker=worker_, **(keys | about))


def step(
    name: str, cycles: int, packets: int, application: int = 0, worker_: int = 0, copier: bool | None = True
) -> StepWindow:
    place = {"endpoint": "client", "stage": "app_tx", "index": application, "worker": worker_}
    return StepWindow(step=name, cycles=cycles, packets=packets, stamps=1, traffic=False, copier=copier, **place)


TAKEN = [step("submit", 3000, 30), step("poll", 4000, 20)]


def finished(parts, steps=(), workers=1):
    made = window([], [worker(worker=n, timed_cycles=100_000) for n in range(workers)])
    return made.model_copy(update={"copies": list(parts), "steps": list(steps)})


def rows(windows, ledgers=(LEDGER,), plan=None):
    *_, result = sample.engine_lines(sample.plan())
    return copy_rows(windows, HELLO, plan or copying_plan(), result.model_copy(update={"copies": list(ledgers)}))


def test_rows_follow_the_formulas():
    steps = [*TAKEN, step("copy by CPU", 1000, 2)]
    windows = [finished([part(by_cpu={"failed": 2, "small": 1})], steps), finished([part(by_cpu={"failed": 1})], steps)]
    [row] = rows(windows)
    lasted_s = sum(w.end_ns - w.start_ns for w in windows) / 1e9
    assert row.gbps == pytest.approx(2 * 125_000 * 8 / 1e9 / lasted_s)
    assert row.share == 2 * 8000 / 200_000
    assert row.most_gain == pytest.approx(1 / (1 - 0.08))
    assert (row.submit_cycles, row.poll_cycles, row.by_cpu_cycles) == (100, 200, 500)
    assert row.p50 == row.p99 == pytest.approx(2000 * TICK_NS, rel=0.07)
    assert row.by_cpu == {"failed": 3, "small": 1} and row.copies_by_cpu == 4 and row.copies == 200
    assert (row.engine, row.kind, row.device, row.way) == ("dma", "core", "dma_skeleton0", "pipelined")


def test_the_share_is_of_the_workers_that_copy_and_of_their_applications_alone():
    others = [step("submit", 999, 1, application=7), step("submit", 10_000, 100, application=1, worker_=1)]
    parts = [part(), part(application=1, worker_=1)]
    [row] = rows([finished(parts, [step("submit", 10_000, 100), *others], workers=3)])
    assert row.share == 20_000 / 200_000


@pytest.mark.parametrize("name", ["submit", "copy", "poll", "copy by CPU"])
def test_a_step_of_the_handler_that_is_called_like_one_of_the_copier_is_not_counted_with_them(name):
    own = step(name, 50_000, 7, copier=False)
    [row] = rows([finished([part()], [own, *TAKEN])])
    assert row.share == 7000 / 100_000
    assert (row.submit_cycles, row.poll_cycles, row.by_cpu_cycles) == (100, 200, None)


def test_without_marks_nobody_knows_whose_steps_they_are():
    [row] = rows([finished([part()], [step("submit", 3000, 30, copier=None), step("poll", 4000, 20, copier=None)])])
    assert row.share is row.most_gain is row.submit_cycles is row.poll_cycles is row.freed_cycles is None


def test_freed_is_what_the_cpu_would_have_paid_less_what_the_copier_costs():
    [row] = rows([finished([part()], TAKEN)])
    assert row.freed_cycles == pytest.approx(550 - 100 - 200)  # 1250 bytes lie between 1000 and 2000
    assert row.freed_share == pytest.approx(250 * 20 / 100_000)
    [row] = rows([finished([part()], [step("submit", 15_000, 30), step("poll", 4000, 20)])])
    assert row.freed_cycles == pytest.approx(550 - 500 - 200), "a copier may cost more than it frees"
    assert row.freed_share == pytest.approx(-150 * 20 / 100_000)
    [row] = rows([finished([part(copies=75, by_cpu={"failed": 25, "small": 400, "no_room": 9})], TAKEN)])
    assert row.freed_cycles == pytest.approx(550 * 75 / 100 - 100 - 200), "a copy that failed frees nothing"


@pytest.mark.parametrize(
    ("about", "steps", "ledgers"),
    [
        ({"sizes": None}, TAKEN, [LEDGER]),
        ({"sizes": sample.histogram([]), "copies": 0}, TAKEN, [LEDGER]),
        ({}, TAKEN, []),
        ({}, TAKEN, [LEDGER.model_copy(update={"cpu_copies": None})]),
        ({}, [step("submit", 0, 0), step("poll", 4000, 20)], [LEDGER]),
        ({}, TAKEN[:1], [LEDGER]),
        ({}, [], [LEDGER]),
    ],
    ids=["at once", "no copies", "no result", "not measured", "no submit", "no poll", "no cycles"],
)
def test_what_nobody_measured_frees_no_number(about, steps, ledgers):
    [row] = rows([finished([part(**about)], steps)], ledgers=ledgers)
    assert row.freed_cycles is row.freed_share is None


def test_what_no_timed_call_has_copied_has_no_share():
    untimed = [step("copy", 0, 0), step("poll", 0, 0)]
    shares = [
        rows([finished([part(**about)], untimed)])[0].share
        for about in ({}, {"copies": 0, "by_cpu": {"small": 4}}, {"copies": 0, "uncopied": 9})
    ]
    assert shares == [None, None, 0]


def test_a_copier_that_copies_at_once_has_no_time_of_a_copy():
    plan = copying_plan(engine="cpu")
    parts = [part(completion=None, sizes=None)]
    [row] = rows([finished(parts, [step("copy", 500, 5), step("poll", 10, 5)])], plan=plan)
    assert row.submit_cycles == 100 and row.p50 is None and row.p99 is None and row.freed_cycles is None


def test_without_a_result_or_cycles_nothing_is_made_up():
    [row] = rows([finished([part()])], ledgers=())
    assert row.kind is row.device is row.submit_cycles is row.poll_cycles is row.share is row.most_gain is None
    assert rows([]) == []


def test_zero_copies_have_no_copier():
    [row] = rows([finished([part(copies=0, uncopied=7)])], plan=copying_plan(way="zero"))
    assert row.engine == "none" and row.uncopied == 7


def test_the_table_names_each_reason():
    of_copies = {"copies": rows([finished([part(by_cpu={"failed": 1234})], [step("submit", 1, 1)])])}
    (section,) = sections(Summary(None, *([] for _ in range(9)), parts=of_copies))
    shown = printed(section, 200)
    assert "dma" in shown and "pipelined" in shown
    assert "echo, copies by the CPU: failed 1,234" in shown


def verdict(plan: Plan | None = None, *, copies=(), verified=()) -> list[str]:
    plan = plan or copying_plan()
    result = sample.engine_lines(plan)[-1].model_copy(update={"copies": list(copies), "verified": list(verified)})
    history = History("windtunnel", plan, ready=True, measured=5, result=result, exit_code=0, ended_at=1.0)
    return judge(SupervisedRun([history])).reasons


def test_a_closed_account_is_valid():
    assert verdict(copies=[LEDGER], verified=[VERIFIED]) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"never_ended": 5, "ended": 995}, "copies never ended: 5 of 1000 that dma (dma_skeleton0) of application 0"),
        ({"missing": 2}, "ledger open: 2 copies missing of 1000 that dma"),
        (
            {"breach": "it lied: 9, and 4 is the most"},
            "copier wrong: dma (dma_skeleton0) of application 0, workload echo: it lied: 9,",
        ),
        ({"submitted": 1001, "ended": 1001}, "counted 1000 submitted and 1000 completed copies, the application 1001"),
    ],
)
def test_an_open_account_is_invalid(changes, words):
    [reason] = verdict(copies=[LEDGER.model_copy(update=changes)])
    assert words in reason


def test_wrong_bytes_are_named_with_the_first_one():
    first = WrongByte(application=1, slot=3, generation=9, offset=700)
    wrong = VERIFIED.model_copy(update={"wrong_packets": 4, "wrong_bytes": 77, "first": first})
    [reason] = verdict(verified=[VERIFIED, wrong])
    assert reason.startswith("copies wrong: 4 of 1000 packets of workload echo arrived with 77 wrong bytes, ")
    assert reason.endswith("the first at byte 700 of message 3/9 of application 1")


def recorded(kind: str | None) -> Record:
    plan = copying_plan()
    copies = [LEDGER.model_copy(update={"kind": kind})] if kind else []
    result = sample.engine_lines(plan)[-1].model_copy(update={"copies": copies})
    return record(EngineRecord(name="windtunnel", plan=plan.model_dump(), result=result))


def test_runs_of_different_kinds_are_not_compared():
    assert identity(recorded("hardware"))["copies by"] == "hardware"
    assert identity(recorded("modelled"))["copies by"] == "modelled"
    assert identity(recorded("core"))["copies by"] == identity(recorded(None))["copies by"] == "core"
