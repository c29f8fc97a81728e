"""Variants by what they change, the order of their windows, and room for all of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_tools import loaded, machine
from variant_tools import variant as made
from variant_tools import variants_of

from windtunnel.engine.plan import Delay
from windtunnel.errors import UserError
from windtunnel.measure.variants import AS_IT_IS, in_order, variant
from windtunnel.scenario import resolve


def test_keys_of_a_scenario_become_a_variant():
    delay = Delay(endpoint="server", stage="app_rx", ns=5.0)
    sets = {"client.batch.app_tx": 64, "server.batch.app_rx": 1, "server.batch.nic_rx": 8, "client.inflight": 512}
    found = variant("all", sets, [delay])
    assert found.batch == {"client": {"app_tx": 64}, "server": {"app_rx": 1, "nic_rx": 8}}
    assert (found.inflight, found.delays) == (512, [delay])


@pytest.mark.parametrize("key", ["server.ring_size", "server.mempool.size", "client.cores", "workload.0.dispatchers"])
def test_what_a_run_has_from_its_start_is_refused_with_the_way(key):
    with pytest.raises(UserError) as refused:
        variant("other", {key: 64})
    assert refused.value.message.startswith(f"{key}: cannot change within a run")
    assert "windtunnel compare" in refused.value.remedy and f"{key}=64" in refused.value.remedy


BATCH, INFLIGHT = "server.batch.app_rx", "client.inflight"


@pytest.mark.parametrize(("key", "value"), [(BATCH, 0), (BATCH, 1025), (BATCH, 3.5), (INFLIGHT, 0), (INFLIGHT, "64")])
def test_values_out_of_range_are_refused(key, value):
    with pytest.raises(UserError, match=f"{key} is "):
        variant("other", {key: value})


@given(st.integers(0, 8), st.integers(1, 100), st.integers(0, 2**32))
def test_every_block_has_each_variant_once(changed, windows, seed):
    found = in_order([made(f"v{n}") for n in range(changed)], windows, seed)
    number = changed + 1
    assert found.variants[0] == made(AS_IT_IS)
    assert len(found.order) >= windows and len(found.order) % number == 0
    for first in range(0, len(found.order), number):
        assert Counter(found.order[first : first + number]) == Counter(range(number))


def test_the_order_is_drawn_from_the_seed():
    orders = [in_order([made("a"), made("b")], 60, seed).order for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    blocks = {tuple(orders[0][n : n + 3]) for n in range(0, 60, 3)}
    assert len(blocks) > 1


def resolved(directory, variants=None, **keys):
    data = {"duration": "1s", "window": "100ms", "workload": [{"handler": "l_app"}]} | keys
    return resolve(loaded(directory, data), machine(), variants=variants)


def test_pools_and_slots_have_room_for_the_largest(tmp_path):
    wide = variants_of(2).model_copy(
        update={"variants": [made("plain"), made("wide", batch={"client": {"app_tx": 1024}}, inflight=4096)]}
    )
    narrow = wide.model_copy(update={"variants": [made("plain"), made("narrow", inflight=1)]})
    plain, widest, least = (resolved(tmp_path, each) for each in (None, wide, narrow))
    of_plain = plain.demands["client"].mbufs
    assert widest.demands["client"].mbufs["in flight"] == 4 * of_plain["in flight"]
    assert least.demands["client"].mbufs == of_plain
    grown = widest.demands["client"].mbufs["bursts"] - of_plain["bursts"]
    assert grown == 1024 - 32
    (plan,) = widest.plans
    assert plan.workloads[0].client_slots == 4096
    assert plan.variants == wide
    client = next(endpoint for endpoint in plan.endpoints if endpoint.side == "client")
    assert client.applications[0].inflight == 1024 and client.batch.app_tx == 32, "the plan is the scenario as it is"
    assert plan.eal.args != plain.plans[0].eal.args or plan.eal.memory == "hugepages", "more memory"


def test_each_application_has_room_for_its_part(tmp_path):
    two = [{"handler": "l_app", "inflight": 100, "apps": 2}, {"handler": "l_app", "inflight": 300}]
    wide = variants_of(2).model_copy(update={"variants": [made("plain"), made("wide", inflight=4000)]})
    (plan,) = resolved(tmp_path, wide, workload=two).plans
    assert [workload.client_slots for workload in plan.workloads] == [500, 3000]


def test_a_delay_is_no_interruption(tmp_path):
    delays = [Delay(endpoint="server", stage="app_rx", ns=500.0), Delay(endpoint="server", stage="nic_rx", ns=100.0)]
    slow = made("slow", delays, batch={"server": {"app_rx": 64}})
    late = variants_of(2).model_copy(update={"variants": [made("plain"), slow]})
    (before,), (plan,) = resolved(tmp_path).plans, resolved(tmp_path, late).plans
    assert plan.accounting.interrupted_above_ns == before.accounting.interrupted_above_ns + 64 * 500


def test_a_run_takes_longer_by_what_it_settles(tmp_path):
    (plan,) = resolved(tmp_path, variants_of(2, settle_ns=7)).plans
    assert plan.settling_ns(plan.phases.duration_ns) == 10 * 7
    assert plan.settling_ns(plan.phases.duration_ns + 1) == 11 * 7
    (plain,) = resolved(tmp_path).plans
    assert plain.settling_ns(plain.phases.duration_ns) == 0
