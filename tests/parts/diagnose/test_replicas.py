"""Workers that do the same are one group: in what limits, in its evidence, and in the gains of remedies. The runs are simulated."""

import pytest
from diagnosed_runs import made
from many_workers import plan_of_pairs

from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.runs.replicas import replicas

HANDLER = {("server", "app_rx"): 8.0}
"""The handler takes most of a server's time."""


@pytest.fixture(scope="module", params=[4, 15])
def plan(request, tmp_path_factory):
    return plan_of_pairs(tmp_path_factory.mktemp("plan"), request.param)


def servers(plan):
    return [n for n, worker in enumerate(plan.workers) if plan.endpoints[worker.stages[0].endpoint].side == "server"]


def test_clients_and_servers_are_a_group_each(plan):
    count = len(plan.workers) // 2
    assert sorted(map(len, replicas(plan))) == [count, count] and servers(plan) in replicas(plan)


def test_a_tie_within_a_group_is_none(plan):
    run = made(plan=plan, client=0.3, server=0.04, work=HANDLER)
    found = diagnose(run)
    assert (found.limit.kind, found.limit.workers) == ("worker", servers(plan))
    assert (
        f"the server's {len(servers(plan))} workers on CPU" in found.limit.words and "limit alike" in found.limit.words
    )


def test_gains_are_of_the_remedy_for_the_whole_group(plan):
    found = diagnose(made(plan=plan, client=0.3, server=0.04, work=HANDLER))
    handler = next(cause for cause in found.causes if cause.code == "handler")
    assert handler.gain.low > 10, handler.gain


def test_the_odd_one_is_named_first(plan):
    odd = servers(plan)[2]
    run = made(plan=plan, client=0.4, server=0.3, waits={odd: 0.02}, work=HANDLER)
    found = diagnose(run)
    assert (found.limit.kind, found.limit.workers) == ("worker", [odd])
    cpu = plan.workers[odd].cpu
    others = len(servers(plan)) - 1
    assert f"on CPU {cpu} limits: it has less slack than the {others} others that do the same" in found.limit.words
    (of_group,) = [line for line in found.limit.evidence if "in the median" in line and "the server's" in line]
    assert f"that on CPU {cpu} has the least, 2.0%" in of_group


def test_some_of_a_group_are_named_as_such(plan):
    two = servers(plan)[1:3]
    found = diagnose(made(plan=plan, client=0.4, server=0.3, waits=dict.fromkeys(two, 0.02)))
    assert sorted(found.limit.workers) == two
    assert f"limit alike, with less slack than the {len(servers(plan)) - 2} others" in found.limit.words


def test_evidence_has_a_line_for_a_group_of_many(plan):
    lines = [line for line in diagnose(made(plan=plan)).limit.evidence if "slack" in line]
    assert len(lines) == 2
