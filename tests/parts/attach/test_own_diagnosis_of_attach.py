"""What `diagnose` says of an observation."""

import pytest
from observed_samples import TSC_HZ, busy_windows, channel, port, turns, window

from windtunnel.parts.attach.delay_lines import FILE
from windtunnel.parts.attach.experiments import DelayLine
from windtunnel.parts.attach.observed_run import ObservedRunWriter
from windtunnel.parts.attach.processes import Application
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.document import diagnosis_document
from windtunnel.results.markdown import render

BROKER = Application(pid=77, command=("/opt/broker",), release="22.11", prefix="rte", runtime=None)


@pytest.fixture
def diagnosed(tmp_path):
    def of(windows, steps=()):
        writer = ObservedRunWriter(tmp_path / "run", BROKER, "22.11")
        for line in windows:
            writer.append(line)
        run = writer.finish([], TSC_HZ)
        if steps:
            (run.path / FILE).write_text("".join(step.model_dump_json() + "\n" for step in steps))
        diagnosis = diagnose(run)
        render(diagnosis_document(diagnosis))
        return diagnosis

    return of


def codes(diagnosis):
    return [cause.code for cause in diagnosis.causes]


def test_a_saturated_thread_limits_and_its_own_code_is_the_cause(diagnosed):
    diagnosis = diagnosed(busy_windows({32: 1.0}, burst=320, packet=40))
    assert diagnosis.limit.kind == "worker"
    assert diagnosis.limit.words.startswith("lcore 1 limits")
    assert codes(diagnosis) == ["application"]
    assert "(60%)" in diagnosis.causes[0].evidence


def test_drivers_that_take_most_are_the_cause(diagnosed):
    assert codes(diagnosed(busy_windows({32: 1.0}, burst=0, packet=25))) == ["driver"]


def test_without_a_saturated_thread_the_load_limits(diagnosed):
    diagnosis = diagnosed(busy_windows({0: 0.7, 8: 0.3}, burst=320, packet=40))
    assert (diagnosis.limit.kind, codes(diagnosis)) == ("offered load", [])


def two(first, second, asked=32):
    def channels(n):
        timed = turns({asked: 100}, burst=320, packet=40)
        return [
            channel({asked: calls + n}, timed, thread=t, lcore=t, asked=asked) for t, calls in ((1, first), (2, second))
        ]

    return [window(n, channels(n), [port()]) for n in range(10)]


def test_two_saturated_threads_are_a_tie_that_an_experiment_can_tell(diagnosed):
    diagnosis = diagnosed(two(1000, 1000))
    assert diagnosis.limit.kind == "tie"
    assert any("--causal" in sentence for sentence in diagnosis.not_measured)


def test_a_thread_behind_a_ring_makes_a_tie(diagnosed):
    """The one in front always finds packets, whichever of both limits."""
    timed = turns({32: 100}, burst=320, packet=40)
    behind = channel({32: 1000}, receives=False, thread=2, lcore=2, asked=32)
    windows = [window(n, [channel({32: 1000 + n}, timed, thread=1), behind], [port()]) for n in range(10)]
    diagnosis = diagnosed(windows)
    assert diagnosis.limit.kind == "tie"
    assert "lcore 1 and lcore 2 share the work" in diagnosis.limit.words


def test_delays_tell_which_of_two_limits(diagnosed):
    steps = [
        DelayLine(
            kind="causal",
            round=n,
            thread=t,
            delay_ns=10.0 if t else 0.0,
            seconds=0.05,
            packets=packets + n % 3,
            missed=0,
        )
        for n in range(20)
        for t, packets in ((0, 1_000_000), (1, 1_000_000), (2, 833_333))
    ]
    diagnosis = diagnosed(two(1000, 1000), steps)
    assert diagnosis.limit.kind == "worker"
    assert diagnosis.limit.words.startswith("lcore 2 limits")


def test_uneven_queues_are_named(diagnosed):
    assert "uneven-queues" in codes(diagnosed(two(9000, 1000)))


def test_even_queues_are_no_cause(diagnosed):
    assert "uneven-queues" not in codes(diagnosed(two(1100, 1000)))


def test_small_bursts_are_named(diagnosed):
    assert "small-batches" in codes(diagnosed(two(1000, 10, asked=4)))


def test_windows_that_the_host_spoiled_are_a_cause(diagnosed):
    windows = busy_windows({32: 1.0}, burst=320, packet=40)
    spoiled = [w.model_copy(update={"excluded": "preempted"}) if n % 3 == 0 else w for n, w in enumerate(windows)]
    assert codes(diagnosed(spoiled))[0] == "host-time"


def test_losses_are_a_cause(diagnosed):
    windows = [window(n, [channel({0: 50, 4: 10})], [port(imissed=7)]) for n in range(10)]
    assert codes(diagnosed(windows)) == ["losses"]
