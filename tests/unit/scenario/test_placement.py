"""Which stage runs on which CPU: the rules one by one, then what holds for every topology."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scenario_tools import ECHO, SHIPPED, finished, machine, refused

from windtunnel.host.cpu_topology import alike
from windtunnel.scenario import load, resolve
from windtunnel.scenario.cpu_choice import divide
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.placement import cpu_list, crossings, groups, place
from windtunnel.scenario.topology import topologies

SERVER_LOOP = ["nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"]
CLIENT_LOOP = ["nic_rx", "disp_rx", "app_rx", "app_tx", "disp_tx", "nic_tx"]


def placed(directory, data, cpus=2):
    """cpu -> [(side, stage, index)], in the order of the loop."""
    plan = finished(directory, ECHO | data, host=machine(cpus)).plans[0]
    return {
        worker.cpu: [(plan.endpoints[s.endpoint].side, s.stage, s.index) for s in worker.stages]
        for worker in plan.workers
    }


def loop(side, stages, index=0):
    return [(side, stage, index) for stage in stages]


def test_echo_on_two_cpus_gives_the_server_the_upper_one(tmp_path):
    assert placed(tmp_path, {}) == {1: loop("server", SERVER_LOOP), 0: loop("client", CLIENT_LOOP)}


def test_one_cpu_runs_everything(tmp_path):
    assert placed(tmp_path, {}, cpus=1) == {0: loop("server", SERVER_LOOP) + loop("client", CLIENT_LOOP)}


def test_with_many_cpus_the_first_ones_stay_free(tmp_path):
    assert set(placed(tmp_path, {}, cpus=8)) == {7, 6}


def test_a_split_on_two_cpus_keeps_dispatchers_and_applications_apart(tmp_path):
    found = placed(tmp_path, {"workload": [{"handler": "l_app", "colocate": False}]})
    assert {(side, stage[:3] == "app") for side, stage, _ in found[1]} == {("server", False), ("client", False)}
    assert {(side, stage[:3] == "app") for side, stage, _ in found[0]} == {("server", True), ("client", True)}


@pytest.mark.parametrize(
    ("split", "cpus", "stages"),
    [({"colocate": False}, 4, {3: 4, 2: 1, 1: 4, 0: 2}), ({"client": {"colocate": False}}, 3, {2: 5, 1: 4, 0: 2})],
)
def test_both_sides_or_the_client_alone_are_split_where_there_are_cpus(tmp_path, split, cpus, stages):
    found = placed(tmp_path, {"workload": [{"handler": "l_app"} | split]}, cpus)
    assert {cpu: len(stages) for cpu, stages in found.items()} == stages


def test_colocated_applications_spread_with_their_dispatchers(tmp_path):
    found = placed(tmp_path, {"workload": [{"handler": "l_app", "apps": 2, "dispatchers": 2}]}, cpus=4)
    assert found[3] == loop("server", SERVER_LOOP, 0)
    assert found[2] == loop("client", CLIENT_LOOP, 0)
    assert found[1] == loop("server", SERVER_LOOP, 1)
    assert found[0] == loop("client", CLIENT_LOOP, 1)


def test_more_applications_than_dispatchers_get_workers_of_their_own(tmp_path):
    found = placed(tmp_path, {"workload": [{"handler": "l_app", "apps": 3, "client": {"apps": 1}}]}, cpus=4)
    assert found[3] == loop("server", SERVER_LOOP)
    assert [found[2], found[1]] == [loop("server", ["app_rx"], 1), loop("server", ["app_rx"], 2)]


def test_a_packet_handler_alone_needs_no_application(tmp_path):
    found = placed(tmp_path, {"workload": [{"packet_handler": "echo"}]})
    assert found[1] == loop("server", ["nic_rx", "disp_rx", "nic_tx"])
    assert found[0] == loop("client", CLIENT_LOOP)


def test_cores_by_name(tmp_path):
    found = placed(tmp_path, {"server": {"cores": [0]}, "client": {"cores": [2]}}, cpus=4)
    assert set(found) == {0, 2}
    assert set(placed(tmp_path, {"server": {"cores": [0]}}, cpus=2)) == {0, 1}
    assert set(placed(tmp_path, {"server": {"cores": [0, 1]}}, cpus=2)) == {0, 1}
    assert "server: CPU 2 does not exist" in refused(tmp_path, ECHO | {"server": {"cores": [0, 2]}})


def test_workers_by_hand_in_their_own_order(tmp_path):
    stages = ["nic_tx:0", "app_rx:0", "nic_rx:0", "disp_rx:0", "disp_tx:0"]
    workers = [{"core": 1, "stages": stages[:2]}, {"core": 0, "stages": stages[2:]}]
    found = placed(tmp_path, {"server": {"worker": workers}})
    assert found[1][:2] == loop("server", ["nic_tx", "app_rx"])
    assert found[0][:3] == loop("server", ["nic_rx", "disp_rx", "disp_tx"])


@pytest.mark.parametrize(
    ("stages", "what"),
    [
        (["nic_rx:0", "disp_rx:0", "app_rx:0", "disp_tx:0"], "no worker runs nic_tx:0"),
        (["nic_rx:0", "nic_rx:0"], "nic_rx:0 is placed twice, so that queue 0 would have two consumers or two"),
        (["app_rx:0", "app_rx:0"], "the rings of application 0 would have two consumers"),
        (["app_tx:0"], "server has no stage app_tx:0"),
        (["nic_rx:1"], "server has no stage nic_rx:1"),
        (["nic:0"], "not a stage and its index"),
    ],
)
def test_workers_by_hand_must_place_every_stage_once(tmp_path, stages, what):
    assert what in refused(tmp_path, ECHO | {"server": {"worker": [{"core": 1, "stages": stages}]}})


def test_a_pool_without_locks_is_refused_for_two_workers(tmp_path):
    sp_sc = {"server": {"mempool": {"ops": "ring_sp_sc"}}}
    assert "2 workers use this pool" in refused(tmp_path, ECHO | sp_sc)
    assert len(placed(tmp_path, sp_sc, cpus=1)) == 1


def test_two_processes_are_placed_like_two_endpoints():
    plans = resolve(load(SHIPPED / "two-processes.toml"), machine(2)).plans
    assert [[worker.cpu for worker in plan.workers] for plan in plans] == [[1], [0]]
    assert [plan.endpoints[0].side for plan in plans] == ["server", "client"]


def test_more_workers_than_dpdk_has_lcores_are_refused(tmp_path):
    many = {"workload": [{"handler": "l_app", "name": name, "apps": 64, "inflight": 2048} for name in "ab"]}
    assert "more than 127 workers" in refused(tmp_path, many, host=machine(200))
    assert len(placed(tmp_path, many, cpus=127)) == 127


def test_a_split_divides_its_cpus_as_its_groups_are_many(tmp_path):
    workload = {"handler": "l_app", "dispatchers": 4, "colocate": False}
    found = placed(tmp_path, {"server": {"cores": [0, 1, 2]}, "client": {"cores": [3]}, "workload": [workload]}, cpus=4)
    roles = {cpu: {stage[:3] for side, stage, _ in stages if side == "server"} for cpu, stages in found.items()}
    assert roles == {0: {"nic", "dis"}, 1: {"nic", "dis"}, 2: {"app"}, 3: set()}


@pytest.mark.parametrize(
    ("apart", "count"), [("nic_rx:0", 1), ("disp_rx:0", 2), ("disp_tx:0", 1), ("nic_tx:0", 2), ("app_rx:0", 0)]
)
def test_crossings_are_rings_between_workers(apart, count):
    rest = [stage for stage in (f"{name}:0" for name in SERVER_LOOP) if stage != apart]
    workers = [{"core": 0, "stages": [apart]}, {"core": 1, "stages": rest}]
    sides = topologies(Scenario.model_validate(ECHO | {"server": {"worker": workers}}))
    assert crossings(sides[0], place(sides, divide(sides, [0, 1], alike([0, 1])))) == count


def test_cpu_list():
    assert cpu_list([3, 0, 1, 2, 8, 2]) == "0-3,8"
    assert cpu_list([0, 2, 5, 6]) == "0,2,5-6"
    assert cpu_list([5]) == "5"


counts = st.integers(1, 6)
workloads = st.fixed_dictionaries(
    {"apps": counts, "dispatchers": counts, "colocate": st.booleans()},
    optional={
        "client": st.fixed_dictionaries({"apps": counts, "dispatchers": counts, "colocate": st.booleans()}),
        "handler": st.just("l_app"),
    },
).map(lambda keys: keys | {"packet_handler": "echo"})


@given(st.lists(workloads, min_size=1, max_size=3), st.integers(1, 24))
def test_every_stage_stands_once_and_every_ring_has_both_its_ends(found, cpus):
    scenario = Scenario.model_validate({"workload": found})
    sides = topologies(scenario)
    allowed = list(range(100, 100 + cpus))
    stages = place(sides, divide(sides, allowed, alike(allowed)))
    assert {stage.cpu for stage in stages} <= set(allowed)
    for side in sides:
        mine = Counter((stage.stage, stage.index) for stage in stages if stage.side == side.side)
        assert mine == Counter(side.stages)
        for index, application in enumerate(side.applications):
            assert mine["app_rx", index] == 1
            for dispatcher in application.dispatchers:
                assert side.dispatchers[dispatcher].workload == application.workload
                assert mine["disp_rx", dispatcher] == mine["disp_tx", dispatcher] == 1
        served = {d for application in side.applications for d in application.dispatchers}
        with_applications = {a.workload for a in side.applications}
        assert served == {n for n, d in enumerate(side.dispatchers) if d.workload in with_applications}
        assert [d.queue for d in side.dispatchers] == list(range(len(side.dispatchers)))


@given(st.lists(workloads, min_size=1, max_size=3), st.integers(1, 24))
def test_with_enough_cpus_no_cpu_is_shared(found, cpus):
    sides = topologies(Scenario.model_validate({"workload": found}))
    stages = place(sides, divide(sides, range(cpus), alike(range(cpus))))
    cpu_of = {(stage.side, stage.stage, stage.index): stage.cpu for stage in stages}
    if sum(len(groups(side)) for side in sides) <= cpus:
        used = [{cpu_of[side.side, *stage] for stage in group.stages} for side in sides for group in groups(side)]
        assert all(len(group) == 1 for group in used)
        assert len(set().union(*used)) == len(used)
    assume(cpus > 1)
    for side in sides:
        for index, application in enumerate(side.applications):
            if not side.colocated[application.workload]:
                dispatchers = {cpu_of[side.side, "disp_rx", d] for d in application.dispatchers}
                assert cpu_of[side.side, "app_rx", index] not in dispatchers
