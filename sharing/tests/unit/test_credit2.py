"""Credit2 in the simulator: turns, weights, wakes, the rate limit and the reset, as Xen's source has them."""

from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel_sharing.simulate import Machine, Phase, Plan, Tenant, simulate
from windtunnel_sharing.simulate.file import read
from windtunnel_sharing.simulate.policies.credit2 import CREDIT_INIT_NS, Credit2, Vcpu

MS, US = 1_000_000, 1000


def shares(weights: tuple[int, ...], cores: int, duration_ns: int) -> list[float]:
    some = tuple(Tenant(f"t{i}", weight=weight) for i, weight in enumerate(weights))
    outcome = simulate(Plan(some, "credit2", 100 * US, duration_ns, machine=Machine(cores=cores, switch_ns=0)))
    assert outcome.cores.idle == 0
    return [tenant.cpu_ns / duration_ns / cores for tenant in outcome.tenants]


def pool(weights: tuple[int, ...], cores: int = 1, ratelimit_ns: int = 0) -> tuple[Credit2, list[Vcpu]]:
    made = Credit2(Machine(cores=cores), 100 * US, range(cores), np.random.default_rng(1), ratelimit_ns)
    return made, [made.thread(i, Tenant(f"t{i}"), weight) for i, weight in enumerate(weights)]


def starts(made: Credit2, core: int, now: int = 0) -> Vcpu:
    chosen = made.choose(core, made.running[core], now)
    made.running[core] = chosen
    chosen.core = core
    return chosen


def turns_ns(count: int) -> list[int]:
    """For how long one of equal vCPUs that poll runs until another one does, once all have run."""
    made, every = pool((256,) * count)
    for v in every:
        made.wake(v, 0)
    now, ran = 0, []
    for _ in range(200):
        v = starts(made, 0, now)
        if ran and ran[-1][0] is v:
            ran[-1] = (v, ran[-1][1] + v.ends - now)
        else:
            ran.append((v, v.ends - now))
        made.charge(v, v.ends - now, v.ends)
        now = v.ends
    return [turn_ns for _, turn_ns in ran[count + 1 : -1]]


class TestTurns:
    def test_two_alternate_every_ten_ms(self):
        """Who has just run is not in the runqueue yet: nobody's credits end the other one's turn."""
        assert set(turns_ns(2)) == {10 * MS}

    def test_more_than_two_turn_every_half_ms(self):
        """And for two of them after a reset."""
        found = turns_ns(4)
        assert median(found) == 500 * US and max(found) == 1 * MS

    def test_a_slice_changes_nothing(self):
        plans = [Plan((Tenant("a"), Tenant("b"), Tenant("c")), "credit2", us * US, 100 * MS) for us in (50, 1000)]
        one, other = (simulate(plan).document()["tenants"] for plan in plans)
        assert one == other


class TestWeights:
    @pytest.mark.slow
    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.integers(1, 512), min_size=2, max_size=6))
    def test_shares_are_those_of_the_weights_on_one_core(self, weights):
        due = [weight / sum(weights) for weight in weights]
        assert shares(tuple(weights), 1, 4_000 * MS) == pytest.approx(due, abs=0.02)

    def test_on_several_cores_nobody_gets_more_than_one(self):
        """The first weight is due 0.73 of three cores, and may have a third of them: the others share the rest."""
        found = shares((800, 100, 100, 100), 3, 4_000 * MS)
        assert found[0] == pytest.approx(1 / 3, abs=0.01) and found[1:] == pytest.approx([2 / 9] * 3, abs=0.02)

    def test_a_new_weight_counts_from_then_on(self):
        made, (a, b) = pool((256, 256))
        made.weigh(b, 512, 0)
        made.charge(a, 1000, 1000)
        made.charge(b, 1000, 1000)
        assert (CREDIT_INIT_NS - a.credit, CREDIT_INIT_NS - b.credit) == (2000, 1000)


class TestWakes:
    def test_who_has_more_credits_takes_the_core(self):
        made, (a, b) = pool((256, 256))
        made.wake(a, 0)
        assert starts(made, 0) is a
        assert made.wake(b, MS) == 0, "a has burnt 1 ms that it was not charged yet"
        made.charge(a, MS, MS)
        assert starts(made, 0, MS) is b

    def test_nobody_takes_the_core_of_one_with_as_many(self):
        made, (a, b) = pool((256, 256))
        made.wake(a, 0)
        starts(made, 0)
        assert made.wake(b, 0) is None

    def test_the_rate_limit_holds(self):
        made, (a, b) = pool((256, 256), ratelimit_ns=MS)
        made.wake(a, 0)
        starts(made, 0)
        assert made.wake(b, 300 * US) is None
        made.charge(a, 300 * US, 300 * US)
        assert made.choose(0, a, 300 * US) is a
        made.charge(a, 700 * US, MS)
        assert made.choose(0, a, MS) is b

    def test_two_wakes_call_two_idle_cores(self):
        made, (a, b) = pool((256, 256), cores=2)
        assert {made.wake(a, 0), made.wake(b, 0)} == {0, 1}

    def test_a_core_that_is_idle_again_is_called_again(self):
        made, (a,) = pool((256,))
        assert made.wake(a, 0) == 0 and starts(made, 0) is a
        made.block(a, MS)
        made.running[0] = None
        assert made.wake(a, 2 * MS) == 0

    def test_another_cores_vcpu_needs_half_a_ms_more(self):
        made, (a, b) = pool((256, 256), cores=2)
        a.credit, b.credit, b.core = 5 * MS, 5 * MS + 400 * US, 1
        made.insert(b)
        assert made.choose(0, a, 0) is a
        b.credit += 200 * US
        assert made.choose(0, a, 0) is b

    def test_a_tenant_that_sleeps_waits_less_than_those_that_poll(self):
        some = (
            Tenant("web", polls=False, service_ns=20 * US, phases=(Phase(0, 500.0),)),
            *(Tenant(f"t{i}") for i in range(3)),
        )
        [web, *_] = simulate(Plan(some, "credit2", 100 * US, 1_000 * MS)).document()["tenants"]
        assert web["p99"] < 500 * US


class TestReset:
    def test_all_get_ten_ms_when_the_best_has_none(self):
        made, (a, b) = pool((256, 256))
        made.wake(a, 0)
        made.wake(b, 0)
        made.queue.clear()
        a.credit, b.credit = 0, -3 * MS
        made.insert(a)
        made.insert(b)
        assert starts(made, 0) is a
        assert (a.credit, b.credit) == (CREDIT_INIT_NS, 7 * MS)

    def test_what_is_left_is_clipped(self):
        made, (a, b) = pool((256, 256))
        a.credit, b.credit = -1, 9 * MS
        made.insert(a)
        starts(made, 0)
        assert b.credit == CREDIT_INIT_NS + 500 * US, "b slept"

    def test_deep_debts_are_paid_by_several(self):
        made, (a,) = pool((256,))
        a.credit = -25 * MS
        made.insert(a)
        starts(made, 0)
        assert a.credit == 5 * MS


@pytest.mark.slow
def test_fig6_is_simulated_under_each_scheduler():
    """The order of the three, as the paper has it."""
    _, plans = read("fig6-one-core")
    p99 = {
        name: next(t for t in simulate(plan).document()["tenants"] if t["name"] == "memcached")["p99"]
        for name, plan in plans.items()
    }
    assert p99["credit"] > p99["credit2"] > 1 * MS > p99["pvcc"]
