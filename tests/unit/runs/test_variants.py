"""Rows by variant: every measured window is in one row or excluded, and no other window is in any."""

import statistics

import pytest
import sample_lines as sample
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from pydantic import ValidationError
from variant_tools import variants_of

from windtunnel.engine.windows import Window
from windtunnel.runs.variants import messages, messages_of, rows

LINES = sample.engine_lines(sample.plan())
(SHAPE, *_) = [line for line in LINES if isinstance(line, Window) and line.phase == "measure"]
NUMBER = 3
VARIANTS = variants_of(NUMBER)


def window(index, phase, variant, responses, length_ns, delay_cycles=0):
    workload = SHAPE.workloads[0].model_copy(update={"responses": responses})
    stage = SHAPE.stages[0].model_copy(update={"delay_cycles": delay_cycles})
    end = SHAPE.start_ns + length_ns
    update = {"index": index, "phase": phase, "variant": variant, "workloads": [workload], "stages": [stage]}
    return SHAPE.model_copy(update=update | {"end_ns": end})


KINDS = st.sampled_from(
    [
        *(("warmup", 0), ("measure", 0), ("drain", NUMBER - 1)),
        *((phase, n) for n in range(1, NUMBER) for phase in ("variant", "settle")),
        ("settle", 0),
    ]
)
PARTS = st.tuples(KINDS, st.integers(0, 10**7), st.integers(1, 10**9), st.integers(0, 10**9), st.booleans())


@examples(60)
@given(st.lists(PARTS, max_size=40))
def test_every_measured_window_is_in_one_row_or_excluded(parts):
    windows = [window(n, *kind, *rest) for n, (kind, *rest, _) in enumerate(parts)]
    excluded = {n for n, part in enumerate(parts) if part[-1]}
    found = rows(VARIANTS, windows, excluded, 10**9)
    assert [row.name for row in found] == [variant.name for variant in VARIANTS.variants]
    finished = [w for w in windows if w.phase in ("measure", "variant")]
    kept = [w for w in finished if w.index not in excluded]
    assert sum(row.measured for row in found) == len(finished)
    assert sum(row.windows for row in found) == len(kept)
    for number, row in enumerate(found):
        own = [w for w in kept if w.variant == number]
        lasted = sum(w.end_ns - w.start_ns for w in own)
        responses = sum(w.workloads[0].responses for w in own)
        assert row.windows == len(own)
        assert (row.responses_per_s or 0.0) == pytest.approx(responses / lasted * 1e9 if own else 0.0)
        if responses:
            assert row.delay_ns == pytest.approx(sum(w.stages[0].delay_cycles for w in own) / responses)
        costs = [(w.end_ns - w.start_ns) / w.workloads[0].responses for w in own if w.workloads[0].responses]
        assert (row.ns_per_message is None) == (not costs)
        if costs:
            middle = row.ns_per_message
            assert middle.median == pytest.approx(statistics.median(costs))
            if middle.low is not None:
                assert len(costs) >= 6 and middle.low <= middle.median <= middle.high


def test_the_interval_is_that_of_the_median_over_windows():
    windows = [window(n, "measure", 0, 10**6, (100 + n) * 10**6) for n in range(6)]
    (first, *_) = rows(VARIANTS, windows, set(), 10**9)
    assert (first.ns_per_message.low, first.ns_per_message.high) == (100.0, 105.0)
    assert first.ns_per_message.median == 102.5
    (first, *_) = rows(VARIANTS, windows[:5], set(), 10**9)
    assert first.ns_per_message.low is None


def test_without_a_client_a_message_is_a_packet_that_came_in():
    alone = window(0, "measure", 0, 0, 10**9).model_copy(update={"workloads": []})
    packets = sum(port.rx_packets for port in alone.ports)
    (first, *_) = rows(VARIANTS, [alone], set(), 10**9)
    assert first.ns_per_message.median == pytest.approx(1e9 / packets)
    assert first.p50 is None and not first.responses_per_s


class Walked(list):
    """Windows that count how often they are all walked through."""

    times = 0

    def __iter__(self):
        self.times += 1
        return super().__iter__()


def test_windows_are_walked_through_once_however_many_variants_there_are():
    windows = Walked(window(n, "variant", n % 100, 10, 10**6) for n in range(200))
    found = rows(variants_of(100), windows, set(), 10**9)
    assert windows.times == 1 and [row.measured for row in found] == [2] * 100


@pytest.mark.parametrize("client", [True, False])
def test_packets_of_a_server_count_if_there_is_no_client(client):
    served = SHAPE.model_copy(update={"workloads": []})
    windows = Walked([served] * 3 + [SHAPE] * client)
    assert messages_of(windows) == (messages(SHAPE) if client else 3 * messages(served))
    assert windows.times == 2


def test_a_plan_has_a_bounded_number_of_variants():
    with pytest.raises(ValidationError, match="at most 1024"):
        variants_of(1025)
