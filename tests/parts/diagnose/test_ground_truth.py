"""The bench of planted faults: its cases, what a diagnosis may see of them, its scores, and the rules beside ours."""

from dataclasses import replace
from typing import get_args

import pytest
from bench_tools import results  # noqa: F401, the path to the benches
from diagnosed_runs import made
from ground_truth import Bench, Case, Truth, among, held, resource, wilson
from harness.fault_folder import read_folder
from harness.faults import DECK, KINDS, Fault, draw, pair
from harness.other_rules import TOOLS, busiest, contention, pipetunes
from scenario_tools import machine

from windtunnel.errors import UserError
from windtunnel.parts.diagnose import planted
from windtunnel.parts.diagnose.causes import CAUSES
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.model import Gain, Kind
from windtunnel.scenario import load, resolve

CASES = range(2 * len(DECK))


def sets(fault, planted_too=True):
    return [f"{key}={value}" for key, value in {**fault.plain, **(fault.sets if planted_too else {})}.items()]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_case_is_a_scenario(seed):
    for number in CASES:
        fault = draw(seed, number)
        load(fault.file, sets(fault))


def test_a_deck_has_every_kind_once():
    kinds = [draw(7, number).kinds for number in range(len(DECK))]
    assert len(set(kinds)) >= len(KINDS) and kinds.count(()) == 6 and sum(len(each) == 2 for each in kinds) == 2


def test_the_same_seed_has_the_same_cases_and_another_one_others():
    assert [draw(3, n) for n in CASES] == [draw(3, n) for n in CASES]
    assert [draw(3, n) for n in CASES] != [draw(4, n) for n in CASES]


def test_a_diagnosis_can_say_what_is_right():
    known = {*CAUSES, *get_args(Kind)}
    assert all(set(draw(1, n).right) <= known for n in CASES)
    assert all(draw(1, n).right for n in CASES if draw(1, n).kinds)


SERVICE = "# ?\n[client]\n[server]\n[[workload]]\nhandler = 'l_app'\n"


def folder_of(directory, right, **files):
    for name, text in files.items():
        (directory / f"{name.replace('_', '.')}.toml").write_text(text)
    if right is not None:
        (directory / "right.toml").write_text(right)
    return directory


def test_faults_of_others_are_a_folder_of_scenarios_and_their_twins(tmp_path):
    planted_file = SERVICE.replace("[client]\n", "[client]\ninflight = 64\n")
    (fault,) = read_folder(folder_of(tmp_path, "few = ['in-flight']", few_fault=planted_file, few_twin=SERVICE))
    assert (fault.kinds, fault.right) == (("few",), ("in-flight",))
    assert load(fault.planted_file, []).client.inflight == 64 and load(fault.file, []).client.inflight == 1024
    bench = Bench(session=None, interrupts=None, host=None, end=0.0)
    right = replace(case(WAITING), fault=fault)
    assert right.is_right and held(bench.with_remedy(right)), "the twin brings 30%, and 0 to 100% are predicted"


@pytest.mark.parametrize(
    ("right", "files", "words"),
    [
        ("few = ['handler']", {}, "there is no NAME.fault.toml"),
        ("few = ['handler']", {"few_fault": SERVICE}, "there is no few.twin.toml"),
        ("other = ['handler']", {"few_fault": SERVICE, "few_twin": SERVICE}, "few is missing"),
        ("few = [", {"few_fault": SERVICE, "few_twin": SERVICE}, "right.toml"),
        (None, {"few_fault": SERVICE, "few_twin": SERVICE}, "No such file"),
    ],
)
def test_a_folder_that_says_too_little_is_refused(tmp_path, right, files, words):
    with pytest.raises(UserError, match=words):
        read_folder(folder_of(tmp_path, right, **files))


def test_a_pair_has_both_faults():
    both = pair(
        Fault(("a",), "echo", ("x",), sets={"k": "3", "a": "1"}), Fault(("b",), "imix", ("y",), sets={"k": "2"})
    )
    assert (both.kinds, both.scenario, both.right) == (("a", "b"), "echo", ("x", "y"))
    assert both.sets == {"k": "2", "a": "1"}


def test_small_pools_are_in_the_plan_alone():
    fault = next(fault for n in CASES if (fault := draw(1, n)).pools)
    spec = resolve(load(fault.file, sets(fault)), machine())
    (side, size), *_ = fault.pools.items()
    sizes = {end.side: end.pool.size for plan in fault.into(spec).plans for end in plan.endpoints}
    assert sizes[side] == size < min(end.pool.size for plan in spec.plans for end in plan.endpoints)


HIDDEN = ("handler", "narrow link", "long link", "loss")
"""Kinds that nothing but the engine's wire or handler has."""


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_diagnosis_sees_no_difference_from_the_twin(kind):
    fault = next(fault for n in CASES if (fault := draw(1, n)).kinds == (kind,))

    def seen(planted_too):
        spec = resolve(load(fault.file, sets(fault, planted_too)), machine())
        scenario = {part: spec.resolved[part] for part in ("wire", "workload")}
        record = planted.without(made(plan=spec.plans[0], windows=4, scenario=scenario)).record
        (engine,) = record.engines
        whole = engine.plan.model_dump(exclude={"eal"})
        for end in whole["endpoints"]:
            end.pop("pool")  # links and faults hold mbufs: the pool is larger
        return whole, record.scenario

    assert seen(True) == seen(False)


def case(run, right=("handler",), slower=0.3, low=0.2, remedies=None):
    return Case(Fault(("a",), "echo", right, "server"), Truth(slower, low, remedies or {}), run, diagnose(run))


COSTLY = made(client=0.6, server=0.05, work={("server", "app_rx"): 6.0})
WAITING = made(client=0.8, server=0.6)


def test_what_is_said_first_is_right_or_not():
    assert case(COSTLY).says == "handler" and case(COSTLY).is_right and not case(COSTLY, ("in-flight",)).is_right
    assert case(WAITING).says == "in-flight" and case(WAITING, ("in-flight",)).is_right
    assert among(case(WAITING, ("in-flight",)), 1) and not among(case(WAITING, ("losses",)), 3)


def test_causes_that_are_taken_together_are_right_if_one_of_them_is():
    one = case(COSTLY, ("small-batches",))
    both = replace(one.first, code="both-sides", parts=["handler", "small-batches"])
    together = replace(one, found=one.found.model_copy(update={"causes": [both, one.first]}))
    assert together.is_right and not one.is_right
    assert not replace(together, fault=replace(one.fault, right=("mtu",))).is_right


def test_a_fault_counts_by_its_twin():
    assert Truth(0.05, 0.01, {}).counts
    assert not Truth(0.049, 0.01, {}).counts and not Truth(0.2, -0.01, {}).counts and not Truth(None, None, {}).counts


def test_where_the_time_goes_is_no_fault_but_a_gain_is_one():
    assert not case(COSTLY).is_called_faulty
    assert case(WAITING).is_called_faulty


def test_the_resource_that_is_full():
    assert resource(case(COSTLY)) == "server" and resource(case(WAITING)) == "in-flight"


def test_a_remedy_that_brought_what_was_predicted():
    words = " ".join(case(WAITING).first.sets)
    assert held(case(WAITING, remedies={words: 50.0})) and not held(case(WAITING, remedies={words: 150.0}))
    assert case(WAITING).first.gain == Gain(0.0, 100.0) and not held(case(WAITING))


@pytest.mark.parametrize(("sets", "brought"), [(["server.batch.app_rx=32"], 30.0), (["duration=1s"], None)])
def test_a_remedy_that_makes_the_twin_need_not_be_run(sets, brought):
    one = case(COSTLY)
    fault = replace(one.fault, plain={"client.inflight": "2048"}, sets={"server.batch.app_rx": "2"})
    found = one.found.model_copy(update={"causes": [replace(one.first, sets=sets)]})
    bench = Bench(session=None, interrupts=None, host=None, end=0.0)  # it has no time to run anything
    assert bench.with_remedy(replace(one, fault=fault, found=found)).brought == brought


def test_wilsons_interval():
    found = wilson(9, 10)
    assert (found.median, found.low, found.high) == pytest.approx((0.9, 0.5958, 0.9821), abs=1e-4)
    assert wilson(0, 10).low == 0.0 and wilson(10, 10).high == pytest.approx(1.0)


def test_the_busiest_worker_is_always_some_worker():
    assert busiest(COSTLY) == "server" and busiest(WAITING) == "server"


@pytest.mark.parametrize("tool", TOOLS)
def test_the_rule_of_a_tool_of_the_server(tool):
    assert contention(tool, made(client=0.05, server=0.9, stalls={("server", "app_rx"): 1.0})) == "C1"
    assert contention(tool, COSTLY) == "C2 or C4"


def test_pipetunes_tree():
    assert pipetunes(WAITING) == "P3"  # 1 / throughput is longer than any stage
    stalled = made(client=0.05, server=0.6, stalls={("server", "app_rx"): 1.0})
    assert pipetunes(stalled, nic_rx=False) == "P1"
    assert pipetunes(COSTLY, nic_rx=False) == ""  # a completion needs counters
    assert pipetunes(made(), nic_rx=False) == ""  # no stage leads
