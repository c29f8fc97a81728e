"""Threads of copiers: windows in which one had no CPU, and states of the host on the way to it."""

import pytest
from validity_tools import SPAN, check, finished, judged, probe, probed

from windtunnel.engine.windows import Probe
from windtunnel.parts.copies.window import CopyWindow


def with_copier(window, **lost):
    """Copies of a workload by a thread on CPU 7, and of another one by none."""
    account = {"cpu": 7, "preempted_ns": 0, "on_cpu_ns": SPAN, "steal_ns": 0} | lost
    keys = {"workload": 0, "application": 0, "worker": 0, "copies": 1, "by_cpu": {}, "uncopied": 0, "bytes": 64}
    copies = [keys | {"thread": thread, "completion": None} for thread in (None, account)]
    return window.model_copy(update={"copies": list(map(CopyWindow.model_validate, copies))})


@pytest.mark.parametrize("what", ["preempted", "steal"])
def test_a_window_is_excluded_in_which_a_copier_had_no_cpu(what):
    engine, windows = finished()
    windows[-2] = with_copier(windows[-2], **{f"{what}_ns": SPAN // 4})
    validity = judged(engine, windows)
    (mark,) = validity.excluded
    assert (mark.window, len(mark.reasons)) == (windows[-2].index, 1)
    assert f"{what} on CPU 7 (copier) for 25% of the window" in mark.reasons[0]
    assert f"{what} on CPU 7 for " in check(validity, "windows").words


def probe_of_copier(trip_ns, line_ns=None):
    """One worker, or two that exchange packets, and a copier's thread on CPU 7."""
    known = probe() if line_ns is None else probe(line_ns)
    copier = {"worker": 0, "cpu": 7, "trip_ns": trip_ns}
    alone = {"pairs": [], "workers": known.workers[:1]} if line_ns is None else {}
    return Probe.model_validate(known.model_dump() | {"copiers": [copier]} | alone)


@pytest.mark.parametrize(
    ("probes", "named"),
    [
        (
            [probe_of_copier(300)] * 8 + [probe_of_copier(1300)] * 4,
            [("copier on one-l3", 8, 300), ("copier on two-l3s", 3, 1300)],
        ),
        (
            [probe_of_copier(300, 425)] * 8 + [probe_of_copier(1300, 90)] * 4,
            [("two-l3s + copier on one-l3", 8, 425), ("one-l3 + copier on two-l3s", 3, 90)],
        ),
    ],
)
def test_states_are_named_by_the_way_to_a_copier(probes, named):
    validity = judged(*probed(*probes))
    assert [(state.name, state.windows, state.line_ns) for state in validity.states] == named
    assert validity.headline == named[0][0] and len(validity.excluded) == len(probes) - named[0][1]


@pytest.mark.parametrize(
    ("line_ns", "words"),
    [(None, "CPUs 0 and 1 and 7: copier on one-l3 (copy 300 ns), 8 windows"), (425, "(line 425 ns, copy 300 ns)")],
)
def test_the_way_to_a_copier_is_said(line_ns, words):
    found = judged(*probed(*[probe_of_copier(300, line_ns)] * 8, *[probe_of_copier(1300, line_ns and 90)] * 4))
    assert words in check(found, "host state").words
