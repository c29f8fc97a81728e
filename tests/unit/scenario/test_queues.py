"""Queues of the two sides: who sends to whom, and what unlike numbers of them need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_tools import ECHO, finished, machine, refused

from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.topology import topologies


def queues(*workloads):
    """Of each side, the queues of its dispatchers with those that they send to."""
    sides = topologies(Scenario.model_validate({"workload": [{"handler": "l_app", **keys} for keys in workloads]}))
    return {side.side: [(d.queue, d.peers) for d in side.dispatchers] for side in sides}


def test_equal_numbers_are_pairs():
    assert queues({"dispatchers": 3}) == {"server": [(q, []) for q in range(3)], "client": [(q, [q]) for q in range(3)]}


def test_each_of_fewer_or_more_sends_to_all_of_the_server():
    assert queues({"dispatchers": 3, "client": {"dispatchers": 2}})["client"] == [(0, [0, 1, 2]), (1, [0, 1, 2])]
    assert queues({"dispatchers": 1, "client": {"dispatchers": 2}})["client"] == [(0, [0]), (1, [0])]


def test_the_queues_of_a_workload_are_those_of_its_server():
    """Behind a workload with unlike numbers, queues of equal ones are pairs with other numbers."""
    sides = queues({"dispatchers": 2, "client": {"dispatchers": 1}}, {"dispatchers": 2})
    assert sides["server"] == [(q, []) for q in range(4)]
    assert sides["client"] == [(0, [0, 1]), (1, [2]), (2, [3])]


def used(**keys):
    """The dispatchers of each application, by side."""
    sides = topologies(Scenario.model_validate({"workload": [{"handler": "l_app"}, {"handler": "l_app", **keys}]}))
    return {
        side.side: [[d - 1 for d in application.dispatchers] for application in side.applications[1:]] for side in sides
    }


def test_groups_are_the_applications_of_each_dispatcher_in_their_order():
    sides = used(apps=4, dispatchers=2, groups=[1, 3])
    assert sides["server"] == sides["client"] == [[0], [1], [1], [1]]


def test_a_side_with_other_numbers_is_as_even_as_possible():
    sides = used(apps=4, dispatchers=2, groups=[1, 3], client={"apps": 3})
    assert sides == {"server": [[0], [1], [1], [1]], "client": [[0], [1], [0]]}


@pytest.mark.parametrize("keys", [{"apps": 3, "dispatchers": 2}, {"apps": 4, "dispatchers": 1}, {}])
def test_groups_of_other_numbers_are_refused(tmp_path, keys):
    text = refused(tmp_path, {"workload": [{"handler": "l_app", "groups": [1, 3]} | keys]})
    assert "groups of 1, 3 applications, with apps = " in text and "apps = 4, dispatchers = 2" in text


counts = st.integers(1, 6)


@given(
    st.lists(
        st.fixed_dictionaries({"dispatchers": counts, "client": st.fixed_dictionaries({"dispatchers": counts})}),
        min_size=1,
        max_size=4,
    )
)
def test_every_queue_of_the_server_has_a_sender_of_its_workload(workloads):
    scenario = Scenario.model_validate({"workload": [{"handler": "l_app", **keys} for keys in workloads]})
    server, client = topologies(scenario)
    workload_of = {d.queue: d.workload for d in server.dispatchers}
    assert {queue for d in client.dispatchers for queue in d.peers} == set(workload_of)
    assert all(workload_of[queue] == d.workload for d in client.dispatchers for queue in d.peers)


def test_the_plan_has_ports_of_each_side(tmp_path):
    data = {"workload": [{"handler": "l_app", "apps": 2, "dispatchers": 1, "client": {"dispatchers": 2}}]}
    plan = finished(tmp_path, ECHO | data, host=machine(4)).plans[0]
    assert {e.side: e.port.queues for e in plan.endpoints} == {"server": 1, "client": 2}


def test_the_pool_has_room_for_the_rings_of_the_other_side(tmp_path):
    """On a ring a side's mbufs wait in the queues of the other."""

    def descriptors(name, own, dispatchers):
        (tmp_path / name).mkdir()
        data = {"client": {"rx_descriptors": 256}, "server": {"rx_descriptors": 128}}
        data |= {
            "workload": [{"handler": "l_app", "apps": 4, "dispatchers": dispatchers, "client": {"dispatchers": own}}]
        }
        demands = finished(tmp_path / name, ECHO | data, host=machine(8)).demands
        return demands["client"].mbufs["descriptors"], demands["server"].mbufs["descriptors"]

    assert descriptors("equal", 2, 2) == (2 * 128, 2 * 256)
    assert descriptors("unlike", 1, 4) == (4 * 128, 1 * 256)


@pytest.mark.parametrize(("kind", "more"), [("memif", {}), ("rdma", {"type": "rc"})])
def test_wires_of_paired_queues_need_equal_numbers(tmp_path, kind, more):
    data = {"wire": {"kind": kind, **more}, "workload": [{"handler": "l_app", "client": {"dispatchers": 2}}]}
    error = refused(tmp_path, ECHO | data)
    assert "client.dispatchers = 2, dispatchers = 1" in error and "is connected to one of the other side" in error
    assert '"ring"' in error and '"pci"' in error
    finished(
        tmp_path, ECHO | data | {"workload": [{"handler": "l_app", "dispatchers": 2, "client": {"dispatchers": 2}}]}
    )


def test_too_many_queues_are_refused_on_each_side(tmp_path):
    error = refused(tmp_path, ECHO | {"workload": [{"handler": "l_app", "client": {"dispatchers": 17}}]})
    assert "17 dispatchers" in error
