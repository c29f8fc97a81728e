"""Loss by pauses of the host, and loss that is the data plane's."""

import pytest
import sample_lines as sample
from search_runs import a_run

from windtunnel.engine.plan import Link
from windtunnel.measure.search import Latencies, Objective
from windtunnel.measure.throughput.pauses import delay_by_pauses, loss_by_pauses, queue_in_front

LOAD = 50_000.0
"""A queue of 128 packets lasts 2.56 ms."""


def pacing(longest_ns: int, messages: int = 50_000):
    """Of a client that once had no CPU for so long: what was due meanwhile left late, all else at once."""
    late = [longest_ns - n * 20_000 for n in range(longest_ns // 20_000)]
    return sample.histogram([300] * (messages - len(late)) + late)


def test_the_shortest_queue_that_drops_is_in_front():
    plan = sample.plan()
    assert queue_in_front(plan) == 1024
    assert queue_in_front(a_run(queue=128).record.engines[0].plan) == 128
    port = plan.endpoints[0].port
    delay_alone = port.model_copy(update={"link": Link(bits_per_s=None, delay_ns=5, queue=2)})
    first = plan.endpoints[0].model_copy(update={"port": delay_alone})
    assert queue_in_front(plan.model_copy(update={"endpoints": [first, plan.endpoints[1]]})) == 1024


def test_loss_in_a_pause_longer_than_the_queue_lasts_is_the_hosts():
    run = a_run(queue=128, pacing=pacing(10_000_000))
    words = loss_by_pauses(run, LOAD, lost=372)
    assert words.startswith("pause: the client had no CPU for 10.0 ms; the queue of 128 packets")
    assert "lasts 2.56 ms" in words and "372 messages lost" in words


@pytest.mark.parametrize(
    ("longest_ns", "lost", "why"),
    [
        (10_000_000, 0, "nothing was lost"),
        (2_000_000, 50, "the queue lasts longer than the pause"),
        (10_000_000, 600, "more was lost than the pause delayed"),
    ],
)
def test_other_loss_is_the_data_planes(longest_ns, lost, why):
    assert loss_by_pauses(a_run(queue=128, pacing=pacing(longest_ns)), LOAD, lost) is None, why


def test_a_client_that_waits_for_the_data_plane_had_no_pause():
    always_late = sample.histogram([5_000_000] * 40_000 + [300] * 10_000)
    assert loss_by_pauses(a_run(queue=128, pacing=always_late), LOAD, lost=100) is None


def test_a_worker_of_the_server_without_its_cpu_loses_what_arrives():
    run = a_run(queue=128, preempted_ns={1: 8_000_000}, slowest_ns=20_000_000)
    assert loss_by_pauses(run, LOAD, lost=200).startswith("pause: the worker on CPU 1 had no CPU for 8.00 ms")
    assert loss_by_pauses(run, LOAD, lost=500) is None
    of_client_alone = a_run(queue=128, preempted_ns={0: 8_000_000}, slowest_ns=20_000_000)
    assert loss_by_pauses(of_client_alone, LOAD, lost=200) is None


def late(count: int, missing: int = 0) -> Latencies:
    return Latencies.of([(100_000, 49_000 - count), (900_000, count)], missing)


def test_latency_in_a_pause_is_the_hosts_too():
    """p99 allows 490 late messages; the client's pause of 10 ms delayed 490 and more."""
    objective = Objective(0.99, 200_000.0)
    run = a_run(pacing=pacing(12_000_000))
    assert delay_by_pauses(run, LOAD, objective, late(100)) is None, "the objective is met"
    words = delay_by_pauses(run, LOAD, objective, late(580))
    assert words == "pause: the client had no CPU for 12.0 ms; 580 messages took longer than 200 µs"
    assert delay_by_pauses(run, LOAD, objective, late(560, missing=20)) is not None
    assert delay_by_pauses(run, LOAD, objective, late(700)) is None, "more than the pause delayed"
    assert delay_by_pauses(run, LOAD, Objective(0.99, 20e6), late(580)) is None, "the objective is met"
    short = a_run(pacing=pacing(150_000))
    assert delay_by_pauses(short, LOAD, objective, late(580)) is None, "no pause is longer than the limit"


def test_many_short_preemptions_are_no_long_pause():
    """8 ms in all, but no message waited for more than 1 ms."""
    run = a_run(queue=128, preempted_ns={1: 8_000_000}, slowest_ns=1_000_000)
    assert loss_by_pauses(run, LOAD, lost=200) is None
