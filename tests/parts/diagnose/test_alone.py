"""Workers alone: a stage that costs less while the other side holds still pays for what that one does."""

import pytest
from diagnosed_runs import STAGE_NS, experimental, made

from windtunnel.parts.diagnose.delays import ALONE, HELD, delayed, variants_alone
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.observation import observe

FULL = {"client": 0.0, "server": 0.0}
LOCK = {("client", "app_tx"): 6.0, ("server", "app_rx"): 5.0}


def contention(saved, slack_ns=FULL, **how):
    found = diagnose(experimental(slack_ns, alone=saved, noise=0.0005, **how))
    return next((cause for cause in found.causes if cause.code == "contention"), None), found


def test_a_lock_of_both_sides_is_what_their_stages_cost_less_alone():
    cause, found = contention(LOCK)
    assert found.causes[0] == cause and cause.confidence is not None
    assert f"client app_tx takes {STAGE_NS - 6:.1f} ns per message in place of {STAGE_NS:.1f}" in cause.evidence
    assert f"server app_rx takes {STAGE_NS - 5:.1f} ns per message in place of {STAGE_NS:.1f}" in cause.evidence
    # 5 of 100 ns at one side and 6 at the other: the first is the slower then
    assert cause.gain.low == pytest.approx(100 * (100 / 95 - 1), abs=0.3) and cause.gain.basis == "predicted"
    assert not cause.against


def test_alone_each_kind_of_worker_has_its_stages_and_their_intervals():
    by_side = {alone.sides: alone for alone in contention(LOCK)[1].experiment.alone}
    assert by_side["server"].took_ns["server app_rx"] == pytest.approx(STAGE_NS, rel=0.01)
    saved = by_side["server"].saved_ns
    assert saved["server app_rx"].mean == pytest.approx(5.0, abs=0.1) and saved["server app_rx"].low > 4.5
    assert saved["server disp_rx"].low <= 0 <= saved["server disp_rx"].high


def test_own_work_costs_the_same_alone():
    assert contention({})[0] is None


def test_the_wire_is_shared_in_any_case():
    assert contention({("server", stage): 5.0 for stage in ("nic_rx", "nic_tx", "disp_rx")})[0] is None


def test_a_side_that_does_not_limit_may_pay_what_it_likes():
    saved = {("client", "app_tx"): 5.0}
    assert contention(saved, {"client": 40.0, "server": 0.0})[0] is None
    assert contention(saved, {"client": 0.0, "server": 40.0})[0].gain.low > 4


def test_larger_batches_are_no_contention():
    assert contention(LOCK, batches=64)[0] is None


def test_where_all_stages_cost_less_the_hardware_is_shared():
    stages = [("client", s) for s in ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx")]
    stages += [("server", s) for s in ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")]
    cause, _ = contention(dict.fromkeys(stages, 5.0))
    assert "a core, a cache or memory" in cause.against[0]


def test_in_few_blocks_nothing_is_known():
    cause, found = contention(LOCK, blocks=5)
    assert cause is None and {ns.low for alone in found.experiment.alone for ns in alone.saved_ns.values()} == {None}


def test_a_worker_is_alone_while_all_other_kinds_are_delayed():
    work = {("server", "app_rx"): 3.0, ("client", "app_tx"): 3.0}
    run = made(client=0.2, server=0.1, work=work, messages=5_000_000)
    found = diagnose(run)
    variants = {each.name: each for each in variants_alone(delayed(found.workers), observe(run))}
    server = variants[f"{ALONE}server app_rx"]
    (delay,) = server.delays
    assert (delay.endpoint, delay.stage) == ("client", "app_tx") and len(variants) == 2
    assert delay.ns == pytest.approx(HELD * observe(run).ns_a_message, rel=0.01)
    assert variants_alone(delayed(found.workers[:1]), observe(run)) == [], "nothing is beside it"
