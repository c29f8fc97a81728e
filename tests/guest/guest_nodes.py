"""Where memory is on a machine of two NUMA nodes: with the NIC, else with the worker.

The engine's notes say what the kernel says of each page. The witness counts the hugepages of each node in /proc/PID/numa_maps.
"""

import re

import pytest
from guest_runs import execute  # noqa: F401 - a fixture
from real_runs import assert_sound

from windtunnel.runs import Run

MODEL = "e1000e"
HUGEPAGE_BYTES = 2 << 20
LEAST_MBUF_BYTES = 2048
"""Of its data alone."""


def notes_on_memory(run: Run) -> set[str]:
    return {note for note in run.record.all_notes() if note.startswith("memory of the")}


def hugepages(run: Run) -> tuple[int, int]:
    """Of both nodes, when the engine had most, as the guest's kernel counted them."""
    said = re.findall(r"hugepages by node: N0=(\d+) N1=(\d+)", (run.path / "engine.log").read_text())
    return int(said[-1][0]), int(said[-1][1])


def pages_of_pools(run: Run) -> int:
    """The least that the mbufs of one side need."""
    [engine] = run.record.engines
    return min(endpoint.pool.size for endpoint in engine.plan.endpoints) * LEAST_MBUF_BYTES // HUGEPAGE_BYTES


@pytest.mark.parametrize(
    ("nodes", "cores", "expected"),
    [
        pytest.param((None, 1), (0, 1), (0, 1), id="with its worker, and with its NIC"),
        pytest.param((None, 1), (1, 0), (1, 1), id="both on the second"),
        pytest.param((0, 1), (1, 0), (0, 1), id="with their NICs, though the workers are far"),
    ],
)
def test_memory_is_with_the_nic_else_with_the_worker(execute, nodes, cores, expected):  # noqa: F811
    placed = [f"{side}.cores=[{core}]" for side, core in zip(("client", "server"), cores, strict=True)]
    run = execute(MODEL, *placed, nodes=nodes, WATCH="memory")
    assert_sound(run)
    assert notes_on_memory(run) == {
        f"memory of the {side} by NUMA nodes: mbufs on {node}, descriptors on {node}, rings on {node}"
        for side, node in zip(("client", "server"), expected, strict=True)
    }
    far = [side for side, nic, core in zip(("client", "server"), nodes, cores, strict=True) if nic not in (None, core)]
    said = [note for note in run.record.all_notes() if "is on NUMA node" in note]
    assert [side for side in ("client", "server") if any(f"of the {side} is on" in note for note in said)] == far
    seen, pool = hugepages(run), pages_of_pools(run)
    for node in (0, 1):
        sides = expected.count(node)
        assert sides * pool <= seen[node], (seen, pool)
        assert sides > 0 or seen[node] < pool, (seen, pool)
