"""Verdicts on runs that lie there: what is compared with what, what is refused, and in which words."""

from importlib import import_module

import pytest
import sample_lines as sample
from comparing import HOST, SCENARIO, change, compared, in_turn, made

from windtunnel.engine.plan import Load
from windtunnel.errors import UserError
from windtunnel.measure.compare.compared import Running
from windtunnel.measure.compare.compared import compare as hold
from windtunnel.measure.compare.comparison_record import PairedRuns
from windtunnel.measure.compare.sides import sides
from windtunnel.results.comparison import state_sentence, verdict_sentences

judge = import_module("windtunnel.measure.compare.judge")
FAULTS = {"loss": 0.01, "duplicate": 0.0, "reorder": 0.0, "reorder_depth": 1}
OPEN = Load(mode="open", phases=[], lead=0)


def only(comparison):
    """The one verdict."""
    (point,) = comparison.points
    (judged,) = point.judged
    return judged


def measure(comparison, metric):
    (found,) = [each for each in comparison.points[0].measures if each.metric == metric]
    return found


def workload(plan, **changes):
    return plan.model_copy(update={"workloads": [plan.workloads[0].model_copy(update=changes)]})


def beside(directory, **about_b):
    """The comparison of one run a side, of which the second is said to differ so."""
    return compared(made(directory / "a", 6.0), made(directory / "b", 6.0, 10, **about_b))


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """10 pairs of the same, and 10 in which B is 10% slower."""
    directory = tmp_path_factory.mktemp("pool")
    return {"same": in_turn(directory / "same", 10, 6.0, 6.0), "slower": in_turn(directory / "slower", 10, 6.0, 5.4)}


@pytest.fixture(scope="module")
def slower(pool):
    return compared(*pool["slower"])


def test_equal_scenarios_show_no_difference_and_the_smallest_detectable_one(pool):
    comparison = compared(*pool["same"])
    judged = only(comparison)
    assert (judged.verdict, judged.decided_by, judged.because) == (
        "no difference shown",
        "responses_per_s",
        "closed loop",
    )
    found = measure(comparison, "responses_per_s").interval
    assert found.method == "paired" and found.low < 0 < found.high and 0 < found.smallest < 5
    assert not any(each.shown for each in comparison.points[0].measures)
    assert comparison.points[0].differences == [] and comparison.warnings == []


def test_a_slower_one_is_slower_and_the_other_way_round_faster(pool, slower):
    assert only(slower).verdict == "slower" and only(compared(*pool["slower"][::-1])).verdict == "faster"
    found = measure(slower, "responses_per_s").interval
    assert found.low < -10 < found.high < 0 and found.effect == 0


def test_pairs_are_found_by_their_times_whatever_their_names(slower):
    (point,) = slower.points
    by_place = {}
    for run in point.runs:
        by_place.setdefault(run.place, []).append(run.path[-2:])
    assert all(len(pair) == 2 and pair[0] == pair[1] for pair in by_place.values())
    assert [run.side for run in point.runs[:6]] == ["a", "b", "b", "a", "a", "b"]


@pytest.mark.parametrize("adjacent", [0, 1])
def test_runs_that_did_not_alternate_are_compared_with_a_warning(tmp_path, adjacent):
    """Also with two places where the sides meet: five of A, five or six of B, one of A beside one of B."""
    for n in range(6):
        last = adjacent and n == 5
        made(tmp_path / "a" / f"{n}", 6.0, 1000 if last else 10 * n, seed=n)
        made(tmp_path / "b" / f"{n}", 5.0, 1010 if last else 500 + 10 * n, seed=100 + n)
    comparison = compared(tmp_path / "a", tmp_path / "b")
    assert only(comparison).verdict == "slower" and measure(comparison, "p50").interval.method == "unpaired"
    assert any("did not alternate: a drift of the host looks like a difference" in w for w in comparison.warnings)


@pytest.mark.parametrize(("better", "words"), [("higher", ("faster", "slower")), ("lower", ("slower", "faster"))])
def test_a_lower_latency_is_faster(better, words):
    assert (judge._verdict_word(5, better), judge._verdict_word(-5, better)) == words


def test_one_run_a_side_states_its_assumptions(tmp_path):
    a, b = made(tmp_path / "a", 6.0), made(tmp_path / "b", 5.5, 60, seed=2)
    comparison = compared(a, b)
    found = measure(comparison, "responses_per_s").interval
    assert only(comparison).verdict == "no difference shown"
    assert found.method == "assumed" and found.high - found.low > 30 and found.effect is None
    assert any("5% is assumed (--between-runs)" in words for words in comparison.warnings)
    assert only(compared(a, b, between=0.005)).verdict == "slower"
    same = measure(compared(a, made(tmp_path / "same", 6.0, 60, seed=2), between=0.001), "responses_per_s").interval
    assert same.high > 100 * 0.001 * 2.576 * 2**0.5  # percent: windows that differ widen it beyond the assumption


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"host": HOST | {"hostname": "there"}}, "host: A here (a cpu), B there (a cpu)"),
        ({"host": HOST | {"cpus": {"model": "another"}}}, "host: A here (a cpu), B here (another)"),
        ({"host": HOST | {"kernel": "6.2"}}, "kernel: A 6.1, B 6.2"),
        ({"versions": {"engine": "0.2.0", "dpdk": "DPDK 22.11.7"}}, "engine: A 0.1.0, B 0.2.0"),
        ({"versions": {"engine": "0.1.0", "dpdk": "DPDK 23.11"}}, "DPDK: A DPDK 22.11.7, B DPDK 23.11"),
        ({"plan": sample.plan(memory="no-huge")}, "memory: A hugepages, B no-huge"),
        ({"plan": sample.plan(faults=FAULTS)}, "only on B: emulated on what client and server send: loss 1%"),
        ({"plan": sample.plan(("server",), wire="null")}, "wire: A ring, B null"),
        ({"plan": workload(sample.plan(), name="kv")}, "no workload in common: A has echo, B has kv"),
        ({"plan": workload(sample.plan(), load=OPEN)}, "load of echo: A closed, B open"),
    ],
)
def test_incomparable_runs_are_named(tmp_path, changes, words):
    comparison = beside(tmp_path, **changes)
    judged = only(comparison)
    assert judged.verdict == "cannot be compared" and words in judged.reasons
    assert comparison.points[0].measures == []


RELAXED = {"scenario": SCENARIO | {"validity": {"max_drift": 0.5}}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"question": "how?"}, 'another question: A "why?", B "how?"'),
        ({"plan": sample.plan(level="cycles")}, "another accounting: A sampled"),
        ({"build": "c2" * 20}, "different builds of the engine: A b1b1b1b1b1b1, B c2c2c2c2c2c2"),
        (RELAXED, "B: valid, limits relaxed: max_drift 50% instead of 10%"),
    ],
)
def test_what_differs_and_may_be_compared_is_a_warning(tmp_path, changes, words):
    comparison, same = beside(tmp_path, **changes), beside(tmp_path / "same")
    assert any(each.startswith(words) for each in comparison.warnings)
    assert not any(each.startswith(words.partition(":")[0]) for each in same.warnings)
    assert only(comparison).verdict != "cannot be compared"
    relaxed = ["max_drift 50% instead of 10%"] if changes is RELAXED else []
    assert [run.relaxed for run in comparison.points[0].runs] == [[], relaxed]


def test_a_wire_without_frames_may_stand_beside_one_with_frames(tmp_path):
    def unframed():
        plan = sample.plan()
        without = {"wire": "messages", "traits": ["server", "client", "both_ends", "unframed"]}
        endpoints = [e.model_copy(update={"port": e.port.model_copy(update=without)}) for e in plan.endpoints]
        return plan.model_copy(update={"endpoints": endpoints})

    made(tmp_path / "a", 6.0)
    made(tmp_path / "b", 6.0, 10, plan=unframed())
    comparison = compared(tmp_path / "a", tmp_path / "b")
    assert only(comparison).verdict != "cannot be compared" and comparison.points[0].measures
    assert "another wire: A ring, B messages" in comparison.warnings
    made(tmp_path / "c", 6.0, 10, plan=unframed())
    assert not [w for w in compared(tmp_path / "b", tmp_path / "c").warnings if "wire" in w]


def test_invalid_runs_are_named_and_never_included_where_nothing_was_measured(tmp_path):
    judged = only(beside(tmp_path, invalid="engine died: SIGSEGV while measuring"))
    assert judged.verdict == "invalid"
    assert judged.reasons == [f"B: 1 of 1 run invalid, {tmp_path / 'b'}: engine died: SIGSEGV while measuring"]
    (tmp_path / "b" / "windows.jsonl").write_text("")
    assert only(compared(tmp_path / "a", tmp_path / "b", include_invalid=True)).verdict == "invalid"


@pytest.mark.slow
def test_a_few_invalid_runs_are_excluded_with_their_partners(tmp_path):
    a, b = in_turn(tmp_path, 10, 6.0, 5.4)
    change(b / "03", verdict={"valid": False, "reasons": ["ledger open: 3 mbufs missing"]})
    comparison = compared(a, b)
    assert only(comparison).verdict == "slower"
    assert len(measure(comparison, "p50").a) == 9
    assert f"{b / '03'}: invalid, excluded: ledger open: 3 mbufs missing" in comparison.warnings
    assert f"{a / '03'}: excluded, it has no partner in time" in comparison.warnings
    for n in range(6):
        change(b / f"{n:02}", verdict={"valid": False, "reasons": ["ledger open: 3 mbufs missing"]})
    assert only(compared(a, b)).reasons[0].startswith("B: 6 of 10 runs invalid")


@pytest.mark.slow
def test_rejected_metrics_are_compared_only_on_request_and_counted(tmp_path):
    a, b = in_turn(tmp_path, 10, 6.0, 5.4)
    for n in range(6):
        change(b / f"{n:02}", verdict={"valid": False, "reasons": ["generator: too slow"]})
    assert only(compared(a, b)).verdict == "invalid"
    comparison = compared(a, b, include_invalid=True)
    assert only(comparison).verdict == "slower" and len(measure(comparison, "p50").b) == 10
    assert "6 of 20 runs are invalid and included (--include-invalid)" in comparison.warnings
    assert f"{b / '03'}: invalid, included: generator: too slow" in comparison.warnings
    included = [run for run in comparison.points[0].runs if run.reasons]
    assert len(included) == 6 and all(run.place is not None for run in included)
    (line,) = verdict_sentences(comparison)
    assert line.text.endswith("; 6 of 20 runs are rejected")


def test_interrupted_runs_do_not_affect_the_others(tmp_path):
    a, b = in_turn(tmp_path, 3, 6.0, 6.0)
    for n in range(2):
        change(a / f"{n:02}", verdict={"valid": False, "reasons": ["did not finish"]})
    assert only(compared(a, b)).verdict == "no difference shown"


def open_loop(**changes):
    return workload(sample.plan(), load=OPEN, **changes)


def test_the_latency_decides_an_open_loop_as_long_as_its_load_is_carried(tmp_path):
    made(tmp_path / "a", 6.0, plan=open_loop())
    made(tmp_path / "b", 6.0, 10, plan=open_loop())
    made(tmp_path / "c", 6.0, 20, plan=open_loop(), lost=600_000)
    assert only(compared(tmp_path / "a", tmp_path / "b")).decided_by == "p99"
    judged = only(compared(tmp_path / "a", tmp_path / "c"))
    assert judged.decided_by == "responses_per_s"
    assert judged.because.startswith("the offered load was not reached: lost or unsent, B ")


def test_fewer_than_three_runs_a_side_are_refused(tmp_path):
    """One run against one showed "slower, -65%" from an assumed spread of 5%: it was the host."""
    a, b = made(tmp_path / "a" / "0", 6.0), made(tmp_path / "b" / "0", 2.1, 60, seed=2)
    comparison = compared(a, b, force=False)
    judged = only(comparison)
    assert judged.verdict == "cannot tell" and comparison.points[0].measures == []
    assert judged.reasons == [
        "1 run of A and 1 of B, 3 of each show how runs differ. More runs, two scenarios, or --force"
    ]
    forced = compared(a, b)
    assert only(forced).verdict == "slower"
    (line,) = verdict_sentences(forced)
    assert line.text.endswith("; rests on a spread of 5% between identical runs, which is assumed")
    for side, first in (("a", 200), ("b", 1000)):
        for n in (1, 2):
            made(tmp_path / side / str(n), 6.0 if side == "a" else 2.1, first + n, seed=10 * n + first)
    assert only(compared(tmp_path / "a", tmp_path / "b", force=False)).verdict == "slower"


def test_runs_in_turn_need_not_be_three(tmp_path):
    a, b = in_turn(tmp_path, 2, 6.0, 6.0)
    comparison = compared(a, b, force=False)
    assert only(comparison).verdict == "no difference shown" and comparison.points[0].in_turn
    assert "which is assumed" in verdict_sentences(comparison)[0].text
    a, b = in_turn(tmp_path / "one", 1, 6.0, 6.0)
    assert only(compared(a, b, force=False)).verdict == "cannot tell"
    turns = PairedRuns(pairs_wanted=1, pairs=1, seed=1, change="window", stopped="all run")
    judged = judge.judge(*sides(a, b), paired_runs=turns)
    assert only(judged).verdict == "no difference shown" and judged.points[0].in_turn
    assert not any("did not alternate" in warning for warning in judged.warnings)


@pytest.mark.parametrize("force", [False, True])
def test_without_a_common_state_nothing_can_be_told(tmp_path, force):
    for n in range(3):
        made(tmp_path / "a" / str(n), 6.0, n, seed=n, state="one-l3")
        made(tmp_path / "b" / str(n), 2.5, 100 + n, seed=10 + n, state="two-l3s")
    comparison = compared(tmp_path / "a", tmp_path / "b", force=force)
    (line,) = verdict_sentences(comparison)
    assert line.text.startswith("echo: cannot tell: A ran on one L3, B on two L3s")
    assert only(comparison).verdict == "cannot tell" and comparison.points[0].measures == []


def test_separate_runs_are_compared_in_the_state_that_they_share(tmp_path):
    """A ran on one L3 four times, B three times."""
    near, far = {"mpps": 6.0, "state": "one-l3"}, {"mpps": 2.5, "state": "two-l3s"}
    for n in range(6):
        made(tmp_path / "a" / str(n), at_s=n, seed=n, **(near if n < 4 else far))
        made(tmp_path / "b" / str(n), at_s=100 + n, seed=9 + n, **(near if n < 3 else far))
    comparison = compared(tmp_path / "a", tmp_path / "b", force=False)
    assert only(comparison).verdict == "no difference shown"
    found = measure(comparison, "responses_per_s")
    assert (len(found.a), len(found.b)) == (4, 3) and min(*found.a, *found.b) > 5e6
    assert state_sentence(comparison.points[0]) == (
        "A: 4 runs on one-l3, 2 on two-l3s; B: 3 runs on one-l3, 3 on two-l3s; compared on one-l3"
    )
    change(tmp_path / "b" / "0", verdict={"valid": False, "reasons": ["ledger open"]})
    (reason,) = only(compared(tmp_path / "a", tmp_path / "b", force=False)).reasons
    assert reason.startswith("4 runs of A and 2 of B on one-l3, 3 of each")


@pytest.mark.slow
def test_pairs_are_compared_within_one_state_and_those_of_two_are_dropped(tmp_path):
    """On two L3s B is as fast as A, on one L3 10% slower: the difference is of one state, not of a mixture."""
    for n in range(15):
        far = n % 3 == 0
        state, other = ("two-l3s", "one-l3") if far else ("one-l3", "two-l3s")
        made(tmp_path / "a" / f"{n:02}", 2.5 if far else 6.0, 20 * n, seed=2 * n, state=state)
        broken = n in (1, 2)
        mpps = 2.5 if far or broken else 5.4
        made(tmp_path / "b" / f"{n:02}", mpps, 20 * n + 10, seed=2 * n + 1, state=other if broken else state)
    comparison = compared(tmp_path / "a", tmp_path / "b", force=False)
    (point,) = comparison.points
    assert [(each.state, each.a, each.b) for each in point.states] == [("one-l3", 8, 8), ("two-l3s", 5, 5)]
    assert (point.dropped, point.in_turn) == (2, True)
    assert state_sentence(point) == "8 pairs on one-l3, 5 on two-l3s, 2 dropped; compared on one-l3"
    found = measure(comparison, "responses_per_s")
    assert found.interval.percent == pytest.approx(-10, abs=1.5) and only(comparison).verdict == "slower"
    assert (len(found.a), len(found.b)) == (8, 8) and min(*found.a, *found.b) > 5e6
    assert not any("no partner" in warning for warning in comparison.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 5, 10])
def test_a_and_b_and_their_difference_come_from_one_estimator(tmp_path, count):
    """They disagreed: 458 us, 531 us, -19.1%."""
    for n in range(count):
        made(tmp_path / "a" / str(n), 6.0 - n % 3, n, seed=n)
        made(tmp_path / "b" / str(n), 5.0 + n % 2, 100 + n, seed=20 + n)
    back = compared(tmp_path / "b", tmp_path / "a")
    for each in compared(tmp_path / "a", tmp_path / "b").points[0].measures:
        if each.interval:
            assert measure(back, each.metric).middles == pytest.approx(each.middles[::-1])
            assert each.interval.b / each.interval.a == pytest.approx(1 + each.interval.percent / 100)
            assert each.middles == (each.interval.a, each.interval.b)
            assert min(*each.a, *each.b) / 1.001 <= min(each.middles)
            assert max(each.middles) <= max(*each.a, *each.b) * 1.001
            assert each.interval.low > -100


def test_without_a_client_the_packets_received_decide(tmp_path):
    plan = sample.plan(("server",), wire="null", level="counts")
    a, b = made(tmp_path / "a", 6.0, plan=plan), made(tmp_path / "b", 3.0, 10, plan=plan)
    judged = only(compared(a, b))
    assert (judged.verdict, judged.decided_by) == ("slower", "received_per_s")


def study(directory, mpps_by_batch, begin_s, **keys):
    for number, (batch, mpps) in enumerate(mpps_by_batch.items()):
        for repeat in range(4):
            scenario = SCENARIO | {"server": {"batch": {"app_rx": batch}}} | keys
            seed = 100 * number + repeat + int(begin_s)
            made(directory / f"{batch}-{repeat}", mpps, begin_s + 10 * repeat, seed=seed, scenario=scenario)
    return directory


@pytest.mark.slow
def test_studies_are_compared_point_by_point_and_as_a_whole(tmp_path):
    a = study(tmp_path / "a", {8: 3.0, 32: 6.0, 64: 6.5}, 0)
    apart = only(compared(a, study(tmp_path / "c", {16: 3.0, 128: 6.0}, 1000)))
    assert apart.verdict == "cannot be compared" and apart.reasons[0].startswith("no point in common")
    b = study(tmp_path / "b", {8: 3.0, 32: 4.5, 128: 7.0}, 1000, seed=7, client={"inflight": 9})
    comparison = compared(a, b)
    verdicts = {point.factors["server.batch.app_rx"]: point.judged[0].verdict for point in comparison.points}
    assert verdicts == {8: "no difference shown", 32: "slower"}
    assert [(d.key, d.a, d.b) for d in comparison.points[0].differences] == [
        ("seed", None, 7),
        ("client.inflight", None, 9),
    ]
    assert {"only in A: server.batch.app_rx = 64", "only in B: server.batch.app_rx = 128"} <= set(comparison.warnings)
    intervals = [
        each.interval for point in comparison.points for each in point.measures if each.metric == "responses_per_s"
    ]
    assert all(each.joint_low < each.low < each.high < each.joint_high for each in intervals), "they hold together"
    (whole,) = comparison.whole
    assert (whole.verdict, whole.points) == ("slower", 2)
    assert whole.interval.percent == pytest.approx(100 * (0.75**0.5 - 1), abs=2)


def test_keys_derived_from_a_factor_are_not_factors(tmp_path):
    """The pool's size follows from the batch, and in B from something else too."""
    for side, begin in (("a", 0), ("b", 1000)):
        for batch, size in ((8, 1023), (32, 4095)):
            size += begin
            server = {"batch": {"app_rx": batch}, "mempool": {"size": size}}
            for n in range(3):
                made(tmp_path / side / f"{batch}-{n}", 6.0, begin + 10 * n, seed=n + begin, scenario={"server": server})
    comparison = compared(tmp_path / "a", tmp_path / "b")
    assert [point.factors for point in comparison.points] == [{"server.batch.app_rx": 8}, {"server.batch.app_rx": 32}]
    assert [(d.key, d.a, d.b) for d in comparison.points[0].differences] == [("server.mempool.size", 1023, 2023)]
    for side in "cd":
        for n, size in enumerate((1023, 2047)):
            made(tmp_path / side / str(n), 6.0, n, scenario={"server": {"mempool": {"size": size}}})
    points = compared(tmp_path / "c", tmp_path / "d").points
    assert [point.factors for point in points] == [{"server.mempool.size": 1023}, {"server.mempool.size": 2047}]


def test_unmeasured_metrics_have_no_difference(tmp_path):
    plan = sample.plan(level="counts")
    comparison = compared(made(tmp_path / "a", 6.0, plan=plan), made(tmp_path / "b", 6.0, 10, plan=plan))
    found = measure(comparison, "server.app_rx.work_ns")
    assert found.interval is None and found.unmeasured == "not measured in A and B" and not found.shown
    comparison = compared(made(tmp_path / "timed", 6.0), tmp_path / "b")
    assert measure(comparison, "server.app_rx.work_ns").unmeasured == "not measured in B"


def test_windows_without_responses_are_not_zero(tmp_path):
    judged = only(compared(made(tmp_path / "a", 6.0), made(tmp_path / "b", 1e-7, 10)))
    assert judged.verdict == "cannot be compared" and judged.reasons[0].startswith("responses_per_s: ")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda run: change(run, version=99), "record of version 99"),
        (lambda run: (run / "run.json").write_text("{"), "not JSON"),
        (lambda run: (run / "windows.jsonl").write_text("[]\n"), "windows.jsonl:1: not a window"),
        (lambda run: (run / "run.json").write_text('{"version": NaN}'), "record of version nan"),
    ],
)
def test_unreadable_files_are_refused_with_a_message(tmp_path, spoil, words):
    a, b = made(tmp_path / "a", 6.0), made(tmp_path / "b", 6.0, 10)
    spoil(b)
    with pytest.raises(UserError) as refused:
        compared(a, b)
    assert words in refused.value.message and str(b) in refused.value.message


def test_a_truncated_window_is_reported(tmp_path):
    a, b = made(tmp_path / "a", 6.0), made(tmp_path / "b", 6.0, 10)
    with (b / "windows.jsonl").open("a") as file:
        file.write('{"engine":"wind')
    assert any("cut off by a crash" in words for words in compared(a, b).warnings)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("runs/a", "absent", "absent: no such file or directory"),
        ("empty", "runs/a", "empty: contains no run"),
        ("runs/a", "runs/a", "a is on both sides"),
        ("runs/a", "runs", "a is on both sides"),
        ("file.toml", "runs/a", "is a file and"),
        ("file.toml", "absent", "absent: no such file or directory"),
    ],
)
def test_invalid_sides(tmp_path, a, b, words):
    made(tmp_path / "runs" / "a", 6.0)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.toml").write_text("")
    with pytest.raises(UserError) as refused:
        compared(tmp_path / a, tmp_path / b)
    assert words in refused.value.message and refused.value.remedy


def test_set_is_refused_for_runs(tmp_path):
    a, b = made(tmp_path / "a", 6.0), made(tmp_path / "b", 6.0, 10)
    with pytest.raises(UserError, match="finished runs"):
        hold(a, b, Running(sets_b=["server.batch.app_rx=64"]))
