"""No exclusion reads a response count or a latency: whoever looks at the outcome before leaving something out chooses the result."""

import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from validity_tools import changed, finished, in_time, judged, measured_of, rated


def outcomes(count):
    return st.lists(
        st.tuples(st.floats(0.0, 5.0), st.integers(100, 10**8), st.integers(0, 5)), min_size=count, max_size=count
    )


def with_outcome(window, factor, ns, lost):
    """The window with another rate, another latency and other losses."""
    of_rate = rated(window, factor)
    workloads = [
        each.model_copy(update={"latency": sample.histogram([ns] * 100), "lost": lost}) for each in of_rate.workloads
    ]
    return of_rate.model_copy(update={"workloads": workloads})


@examples(10)
@given(outcomes(12), st.sets(st.integers(0, 11), max_size=4))
def test_what_is_excluded_does_not_depend_on_what_was_measured(measured, preempted):
    engine, windows = finished(12)
    windows = in_time(windows)
    first = windows.index(measured_of(windows)[0])
    span = windows[first].end_ns - windows[first].start_ns
    host = [changed(w, preempted_ns=span // 2) if n in preempted else w for n, w in enumerate(windows[first:])]
    other = [with_outcome(window, *each) for window, each in zip(host, measured, strict=True)]
    before, after = (judged(engine, windows[:first] + of) for of in (host, other))
    assert [mark.window for mark in before.excluded] == [mark.window for mark in after.excluded]
    assert len(before.excluded) == len(preempted)
