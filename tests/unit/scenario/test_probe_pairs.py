"""Which pairs of workers a probe of the host measures, and in how many rounds."""

import pytest
from recorded_hosts import recorded_view
from scenario_tools import finished, machine

from windtunnel.engine.plan_values import MAX_PROBE_ROUNDS


def pairs_of(plan):
    """CPUs of each pair, by round."""
    cpus = [worker.cpu for worker in plan.workers]
    rounds = {}
    for pair in plan.probe_pairs:
        rounds.setdefault(pair.round, []).append({cpus[pair.a], cpus[pair.b]})
    return rounds


def test_each_client_and_its_server_are_probed_at_the_same_time(tmp_path):
    workload = {"handler": "l_app", "apps": 8, "dispatchers": 8}
    spec = finished(tmp_path, {"workload": [workload]}, host=recorded_view("vm-16"))
    cores = spec.resolved
    together = zip(cores["server"]["cores"], cores["client"]["cores"], strict=True)
    assert sorted(map(sorted, pairs_of(spec.plans[0])[0])) == sorted(sorted(pair) for pair in together)
    assert list(pairs_of(spec.plans[0])) == [0]


def test_stages_of_one_side_are_probed_where_packets_pass(tmp_path):
    spec = finished(tmp_path, {"workload": [{"handler": "l_app", "colocate": False}]}, host=machine(4))
    assert pairs_of(spec.plans[0]) == {0: [{3, 2}, {1, 0}], 1: [{3, 1}]}


@pytest.mark.parametrize(("apps", "rounds", "left_out"), [(3, 3, 0), (16, 16, 0), (20, 16, 4)])
def test_rounds_grow_with_the_partners_of_a_worker_and_have_a_bound(tmp_path, apps, rounds, left_out):
    workload = {
        "handler": "l_app",
        "apps": apps,
        "dispatchers": 1,
        "colocate": False,
        "client": {"apps": 1, "colocate": True},
    }
    spec = finished(tmp_path, {"workload": [workload]}, host=machine(64))
    by_round = pairs_of(spec.plans[0])
    assert list(by_round) == list(range(min(rounds + 1, MAX_PROBE_ROUNDS)))
    assert any("pairs of workers that exchange packets are not probed" in note for note in spec.notes) == (
        left_out > 0 or apps == 16
    )
    for pairs in by_round.values():
        workers = [cpu for pair in pairs for cpu in pair]
        assert len(workers) == len(set(workers))


def test_workers_of_two_processes_have_no_pair(tmp_path):
    spec = finished(tmp_path, {"workload": [{"handler": "l_app"}], "wire": {"kind": "memif"}})
    assert [plan.probe_pairs for plan in spec.plans] == [[], []]


def test_one_worker_has_no_pair(tmp_path):
    assert finished(tmp_path, {"workload": [{"handler": "l_app"}]}, host=machine(1)).plans[0].probe_pairs == []
