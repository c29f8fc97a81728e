"""A tie is taken on together: the remedies of both sides at once, and what they bring."""

from dataclasses import replace

import pytest
from diagnosed_runs import made

from windtunnel.parts.diagnose.causes import _brings_more
from windtunnel.parts.diagnose.conduct import for_turns
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.experiment import variants_for
from windtunnel.parts.diagnose.model import Gain
from windtunnel.parts.diagnose.observation import observe
from windtunnel.runs import Run

COSTLY_APP = {("server", "app_rx"): 6.0}
PLACES = {"client": 0, "server": 1}


def small(side, stages, size=2, **about):
    """Both workers are full, and stages of one side, or of both, take small batches that are always full."""
    run = about.pop("run", None) or made(client=0.0, server=0.0, **about)
    (engine,) = run.record.engines
    ends = list(engine.plan.endpoints)
    end = ends[PLACES[side]]
    ends[PLACES[side]] = end.model_copy(update={"batch": end.batch.model_copy(update=dict.fromkeys(stages, size))})
    engine.plan = engine.plan.model_copy(update={"endpoints": ends})

    def of(window):
        rows = [
            s.model_copy(update={"burst": {size: 500_000 // size}}) if s.endpoint == side and s.stage in stages else s
            for s in window.stages
        ]
        return window.model_copy(update={"stages": rows})

    return Run(run.path, run.record, {name: [of(w) for w in windows] for name, windows in run.windows.items()})


def causes(run):
    return {cause.code: cause for cause in diagnose(run).causes}


def test_the_causes_of_both_sides_are_taken_together():
    run = small("client", ["disp_rx"], work=COSTLY_APP)
    assert diagnose(run).limit.kind == "tie"
    both = causes(run)["both-sides"]
    assert sorted(both.parts) == ["handler", "small-batches"] and both.sets == []
    assert "server app_rx calls l_app" in both.evidence and "most calls of client disp_rx" in both.evidence
    assert " and, at once, " in both.remedy
    # the handler at half its time leaves 70% of the time at the server, 15/16 of the client's work at most are saved
    assert both.gain.high == pytest.approx(100 * (1 / (1 - 0.3) - 1), rel=0.02)
    assert all(
        cause.gain is None or cause.gain.high < both.gain.high
        for code, cause in causes(run).items()
        if code != "both-sides"
    )


def test_a_remedy_for_both_sides_is_tried_at_once():
    run = small("server", ["app_rx"], run=small("client", ["disp_rx"]))
    found, seen = diagnose(run), observe(run)
    one = causes(run)["small-batches"]
    assert one.sets == ["client.batch.disp_rx=32", "server.batch.app_rx=32"] and "both-sides" not in causes(run)
    assert one.gain.high == pytest.approx(100 * (16 - 1), rel=0.02)
    (tried,) = (v for v in variants_for(found, seen) if v.name == "remedy: small-batches")
    assert tried.batch == {"client": {"disp_rx": 32}, "server": {"app_rx": 32}}


def test_changes_of_two_causes_are_one_remedy():
    """Small batches of the client, and a state of the server's handler that does not fit its cache."""
    run = small("client", ["disp_rx"], host={"caches": [{"level": 2, "bytes": 1 << 20}]}, work=COSTLY_APP)
    workload = run.record.engines[0].plan.workloads[0]
    handler = workload.handler.model_copy(update={"options": {"state": str(8 << 20)}})
    plan = run.record.engines[0].plan.model_copy(
        update={"workloads": [workload.model_copy(update={"handler": handler})]}
    )
    run.record.engines[0].plan = plan
    both = causes(run)["both-sides"]
    assert sorted(both.parts) == ["small-batches", "working-set"]
    assert sorted(both.sets) == ["client.batch.disp_rx=32", f"workload.0.options.state={(1 << 20) // 64}"]
    assert for_turns(run)["both-sides"] == both.sets


@pytest.mark.parametrize(
    "run",
    [
        lambda: small("client", ["disp_rx"]),  # nothing is known of the server
        lambda: made(client=0.6, server=0.05, work=COSTLY_APP),  # one limits
        lambda: made(client=0.0, server=0.0),
    ],
)
def test_what_is_nothing_for_both_sides(run):
    assert "both-sides" not in causes(run())


@pytest.mark.parametrize(("high", "listed"), [(1.0, False), (1000.0, True)])
def test_both_sides_are_listed_only_if_they_bring_more_than_one(high, listed):
    both = causes(small("client", ["disp_rx"], work=COSTLY_APP))["both-sides"]
    one_sided = replace(both, code=both.parts[0], parts=[], gain=Gain(2.5, 10.0))
    together = replace(both, gain=Gain(0.5, high))
    assert _brings_more(together, [together, one_sided]) is listed
    assert _brings_more(one_sided, [together, one_sided])
