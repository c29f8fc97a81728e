"""Which CPUs the workers get on recorded hosts, what is said of it, and what holds on every host."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_hosts import HOSTS, recorded_view, topology_of
from scenario_tools import finished, refused

from windtunnel.host.cpu_topology import CpuTopology, NumaNode
from windtunnel.host.read import cpu_list as cpus_in
from windtunnel.scenario.cpu_choice import divide, house_core
from windtunnel.scenario.cpu_map import CORES_IN_ROW, MARKS
from windtunnel.scenario.exchanges import exchanging
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.placement import place
from windtunnel.scenario.topology import topologies


def pairs(count):
    return {"workload": [{"handler": "l_app", "apps": count, "dispatchers": count, "inflight": 2048}]}


SCENARIOS = {
    "echo": {"workload": [{"handler": "l_app"}]},
    "4 pairs": pairs(4),
    "8 pairs": pairs(8),
    "15 pairs": pairs(15),
    "split": {"workload": [{"handler": "l_app", "colocate": False}]},
}
PLACED = {  # server's CPUs, client's CPUs
    ("vm-2", "echo"): ("1", "0"),
    ("vm-2", "4 pairs"): ("1", "0"),
    ("vm-2", "split"): ("0-1", "0-1"),
    ("vm-16", "echo"): ("15", "14"),
    ("vm-16", "4 pairs"): ("15,13,11,9", "14,12,10,8"),
    ("vm-16", "8 pairs"): ("15,13,11,9,7,5,3,1", "14,12,10,8,6,4,2,0"),
    ("vm-16", "split"): ("15,14", "13,12"),
    ("hybrid", "echo"): ("14", "12"),
    ("hybrid", "4 pairs"): ("14,10,6,2", "12,8,4,0"),
    ("hybrid", "8 pairs"): ("14,10,6,2,23,21,19,17", "12,8,4,0,22,20,18,16"),
    ("hybrid", "split"): ("14,12", "10,8"),
    ("two-sockets", "echo"): ("127", "126"),
    ("two-sockets", "8 pairs"): ("127,125,123,121,119,117,115,113", "126,124,122,120,118,116,114,112"),
    ("two-sockets", "split"): ("127,126", "125,124"),
    ("eight-l3s", "echo"): ("63", "62"),
    ("eight-l3s", "4 pairs"): ("63,61,59,57", "62,60,58,56"),
    ("eight-l3s", "8 pairs"): ("63,61,59,57,55,53,51,49", "62,60,58,56,54,52,50,48"),
    ("eight-l3s", "split"): ("63,62", "61,60"),
}


@pytest.mark.parametrize(("host", "scenario"), PLACED)
def test_workers_of_a_recorded_host(tmp_path, host, scenario):
    spec = finished(tmp_path, SCENARIOS[scenario], host=recorded_view(host))
    server, client = PLACED[host, scenario]
    assert {side: sorted(spec.resolved[side]["cores"]) for side in ("server", "client")} == {
        "server": sorted(cpus_in(server)),
        "client": sorted(cpus_in(client)),
    }


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_was_resolved_is_placed_the_same_way(tmp_path, host, scenario):
    view = recorded_view(host)
    spec = finished(tmp_path, SCENARIOS[scenario], host=view)
    named = {side: {"cores": spec.resolved[side]["cores"]} for side in ("server", "client")}
    again = finished(tmp_path, SCENARIOS[scenario] | named, host=view)
    assert again.plans[0].workers == spec.plans[0].workers


@pytest.mark.parametrize(("host", "count"), [("two-sockets", 15), ("eight-l3s", 15), ("hybrid", 4), ("vm-16", 8)])
def test_a_pair_has_two_cores_of_one_l3(tmp_path, host, count):
    topology = topology_of(host)
    cores = finished(tmp_path, pairs(count), host=recorded_view(host)).resolved
    seen = Counter(topology.core_of[cpu] for side in ("server", "client") for cpu in cores[side]["cores"])
    assert len(seen) == 2 * count
    for server, client in zip(cores["server"]["cores"], cores["client"]["cores"], strict=True):
        assert topology.l3_of[server] == topology.l3_of[client]


def test_more_workers_than_cores_share_them_with_workers_of_other_pairs(tmp_path):
    spec = finished(tmp_path, pairs(12), host=recorded_view("hybrid"))
    (cpu_map,) = spec.maps
    assert not any("threads of one core" in note for note in spec.notes)
    assert "16 of 24 workers share a physical core with another one" in cpu_map.reasons
    assert "no core is left to the main thread: it preempts workers" in cpu_map.reasons


def test_a_core_on_which_a_worker_runs_is_not_marked_as_left_to_the_main_thread(tmp_path):
    view = recorded_view("two-sockets")
    worker, sibling = view.topology.cores[house_core(view.topology, view.cpus)]
    spec = finished(tmp_path, SCENARIOS["echo"] | {"server": {"cores": [worker]}}, host=view)
    (cpu_map,) = spec.maps
    marks = "".join(row.marks for row in cpu_map.rows)
    assert "S" in marks and "M" not in marks
    assert "no core is left to the main thread: it preempts workers" in cpu_map.reasons
    assert sibling in view.cpus, "it has a thread that could have been marked"


def test_nothing_is_said_of_physical_cores_if_one_thread_of_each_is_allowed(tmp_path):
    one_of_each, both = (recorded_view("two-sockets", allowed=cpus) for cpus in ([5, 7, 9, 11], [5, 133, 7, 135]))
    reasons = [" ".join(finished(tmp_path, pairs(1), host=view).maps[0].reasons) for view in (one_of_each, both)]
    assert ["physical core" in text for text in reasons] == [False, True]


def test_the_workers_of_a_nic_are_on_its_node(tmp_path):
    nics = {"0000:17:00.0": 0, "0000:98:00.0": 1}
    scenario = pairs(2) | {"wire": {"kind": "pci"}}
    sides = {"server": {"pci": "0000:17:00.0"}, "client": {"pci": "0000:98:00.0"}}
    spec = finished(tmp_path, scenario | sides, host=recorded_view("two-sockets", nics=nics))
    node_of = topology_of("two-sockets").node_of
    nodes = {side: {node_of[cpu] for cpu in spec.resolved[side]["cores"]} for side in sides}
    assert nodes == {"server": {0}, "client": {1}}
    assert "the server's workers are on NUMA node 0, as its NIC is" in spec.maps[0].reasons
    assert not any("NUMA node" in note for note in spec.notes)


def test_cpus_that_the_file_names_are_kept_and_the_others_are_near(tmp_path):
    spec = finished(tmp_path, SCENARIOS["echo"] | {"server": {"cores": [20]}}, host=recorded_view("eight-l3s"))
    (client,) = spec.resolved["client"]["cores"]
    topology = topology_of("eight-l3s")
    assert topology.l3_of[client] == topology.l3_of[20] and topology.core_of[client] != topology.core_of[20]


def test_named_siblings_are_noted(tmp_path):
    named = {"server": {"cores": [14]}, "client": {"cores": [15]}}
    spec = finished(tmp_path, SCENARIOS["echo"] | named, host=recorded_view("hybrid"))
    assert spec.notes[0].startswith("CPU 14-15: workers that exchange packets are threads of one core")


def test_only_allowed_threads_are_used(tmp_path):
    spec = finished(tmp_path, pairs(2), host=recorded_view("two-sockets", allowed=[5, 133, 7, 135]))
    assert "threads of one core" not in " ".join(spec.notes)
    assert {*spec.resolved["server"]["cores"], *spec.resolved["client"]["cores"]} == {5, 133, 7, 135}
    assert "CPU 6 does not exist" in refused(
        tmp_path,
        SCENARIOS["echo"] | {"server": {"cores": [6]}},
        host=recorded_view("two-sockets", allowed=[5, 133, 7, 135]),
    )


def test_workers_that_must_not_share_a_cpu_are_refused_if_they_would(tmp_path):
    separate = {side: {"cores": "separate"} for side in ("server", "client")}
    spec = finished(tmp_path, pairs(8) | separate, host=recorded_view("vm-16"))
    assert len({*spec.resolved["server"]["cores"], *spec.resolved["client"]["cores"]}) == 16
    message = refused(tmp_path, pairs(9) | separate, host=recorded_view("vm-16"))
    assert 'server.cores = "separate": 18 workers need a CPU each, 16 are free; fewer apps' in message
    assert "2 workers need a CPU each, 1 are free" in refused(
        tmp_path, pairs(1) | separate, host=recorded_view("vm-16", allowed=[3])
    )


@pytest.mark.parametrize(
    ("host", "main"), [("vm-2", "0-1"), ("vm-16", "0-13"), ("hybrid", "0-11,16-23"), ("eight-l3s", "0-61,64-125")]
)
def test_the_main_thread_keeps_off_the_workers_cores(tmp_path, host, main):
    args = finished(tmp_path, SCENARIOS["echo"], host=recorded_view(host)).plans[0].eal.args
    assert args[args.index("--lcores") + 1].startswith(f"0@({main}),1@")


@pytest.mark.parametrize("host", HOSTS)
def test_a_map_has_each_thread_once_and_fits_a_terminal(tmp_path, host):
    spec = finished(tmp_path, pairs(8), host=recorded_view(host))
    (cpu_map,) = spec.maps
    letters = Counter("".join(row.marks for row in cpu_map.rows).replace(" ", ""))
    if host == "vm-2":
        assert not letters and not cpu_map.reasons
        return
    assert letters.total() == len(HOSTS[host].cpus) and set(letters) <= set(MARKS)
    assert (letters["S"], letters["C"]) == (8, 8)
    assert len(cpu_map.rows) <= max(len(HOSTS[host].l3s), -(-len(HOSTS[host].cores) // CORES_IN_ROW))
    assert all(len(f"{row.place}  CPU {row.cpus}  {row.marks}") <= 80 for row in cpu_map.rows)


@st.composite
def hosts(draw):
    """Some L3s of some cores of one or two threads, numbered in any order."""
    sizes = draw(st.lists(st.lists(st.integers(1, 2), min_size=1, max_size=4), min_size=1, max_size=3))
    numbers = iter(draw(st.permutations(range(sum(map(sum, sizes))))))
    l3s = [[sorted(next(numbers) for _ in range(threads)) for threads in cores] for cores in sizes]
    cores = [core for l3 in l3s for core in l3]
    flat = [sorted(cpu for core in l3 for cpu in core) for l3 in l3s]
    nodes = [NumaNode(node=n, cpus=cpus) for n, cpus in enumerate(flat)]
    return CpuTopology(cores=cores, clusters=cores, l3s=flat, nodes=nodes, efficient=[])


@given(hosts(), st.integers(1, 6))
def test_a_physical_core_each_comes_first(host, count):
    cpus = sorted(host.core_of)
    sides = topologies(Scenario.model_validate(pairs(count)))
    chosen = divide(sides, cpus, host)
    workers = [cpu for side in chosen.values() for cpu in side]
    if len(set(workers)) < len(workers):  # one CPU for both sides
        assert len(cpus) == 1
        return
    cores = Counter(host.core_of[cpu] for cpu in workers)
    assert len(workers) == min(2 * count, len(cpus))
    assert len(cores) == min(len(workers), len(host.cores))
    assert house_core(host, cpus) not in cores or len(cores) == len(host.cores)


@given(hosts(), st.integers(1, 6))
def test_a_client_and_its_server_share_no_core_if_there_is_another_choice(host, count):
    cpus = sorted(host.core_of)
    if len(cpus) < 2 * count or len(host.cores) < 2:
        return
    sides = topologies(Scenario.model_validate(pairs(count)))
    placed = place(sides, divide(sides, cpus, host))
    connected = exchanging(sides, {(s.side, s.stage, s.index): s.cpu for s in placed})
    assert len(connected) == count
    on_siblings = [pair for pair in connected if host.core_of[pair[0]] == host.core_of[pair[1]]]
    whole = [core for core in host.cores if len(core) > 1]
    assert not on_siblings, (whole, placed)


def test_a_worker_shares_a_core_with_one_that_it_exchanges_nothing_with():
    """Two cores of two threads each for two clients and two servers: each core has one that sends to nobody on it."""
    host = CpuTopology(cores=[[0, 1], [2, 3]], clusters=[[0, 1], [2, 3]], l3s=[[0, 1, 2, 3]], nodes=[], efficient=[])
    split = {"handler": "l_app", "apps": 2, "dispatchers": 2, "colocate": False, "inflight": 2048}
    sides = topologies(Scenario.model_validate({"workload": [split]}))
    placed = place(sides, divide(sides, [0, 1, 2, 3], host))
    connected = exchanging(sides, {(stage.side, stage.stage, stage.index): stage.cpu for stage in placed})
    assert connected and not [pair for pair in connected if host.core_of[pair[0]] == host.core_of[pair[1]]]
