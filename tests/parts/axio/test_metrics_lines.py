"""axio.metrics/v1, in its long and its compact form, becomes a run."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from importing import refusal, run_of

from windtunnel.parts.axio import metrics_lines
from windtunnel.runs.summary import summarise

COMPACT = {
    "window_id": 10,
    "throughput": {"e2e_mpps": 20.0},
    "latency": {"p50_us": 2.0, "p99_us": 4.0, "p999_us": 5.0},
    "stages": {
        "app_tx": {"completion_time_per_packet_us": None, "stall_time_per_packet_us": None},
        "app_rx": {"completion_time_per_packet_us": 0.02, "stall_time_per_packet_us": 0.0},
        "dispatcher_tx": {"completion_time_per_packet_us": 0.03, "stall_time_per_packet_us": 0.02},
        "dispatcher_rx": {"completion_time_per_packet_us": 0.05, "stall_time_per_packet_us": 0.03},
        "nic_tx": {"throughput_mpps": 20.0, "submit_time_per_packet_us": 0.01},
        "nic_rx": {
            "throughput_mpps": 21.0, "completion_interval_cycles": 300.0, "completion_interval_ns": 100.0,
            "slowest_interval_cycles": 400.0, "capacity_interval_cycles": 100.0,
        },
    },
    "counters": {"app_enqueue_drop_count": 1, "dispatcher_enqueue_drop_count": 2, "nic_rx_completion_error_count": 0},
}  # fmt: skip
LONG = COMPACT | {
    "schema": "axio.metrics/v1",
    "run_id": "r",
    "identity": {"role": "server", "backend": "dpdk", "version": "1"},
    "window": {"duration_seconds": 1.0, "measurement_valid": True, "capacity_comparable": True, "invalid_reasons": []},
}


def text(*windows):
    return "".join(json.dumps(window) + "\n" for window in windows)


def changed(window, **what):
    return copy.deepcopy(window) | what


def stages(run):
    return {row.stage: (row.mpps, row.work_ns, row.stall_ns) for row in summarise(run).stages}


def test_the_long_form_fills_the_stages(tmp_path):
    run = run_of(tmp_path, "axio", text(LONG))
    assert stages(run) == {
        "nic_rx": (21.0, 100.0, None),
        "disp_rx": (None, pytest.approx(20.0), 30.0),
        "app_rx": (None, 20.0, 0.0),
        "disp_tx": (None, pytest.approx(10.0), 20.0),
        "nic_tx": (20.0, 10.0, None),
    }
    assert {row.endpoint for row in summarise(run).stages} == {"server"}
    values = {value.name: value.value for value in run.record.imported.values}
    assert values["End-to-end"] == 20.0 and values["p99, highest"] == 4.0 and values["app_enqueue_drop_count"] == 1


def test_windows_are_weighted_by_their_packets(tmp_path):
    faster = changed(
        LONG, window_id=11, throughput={"e2e_mpps": 60.0}, latency={"p50_us": 1.0, "p99_us": 9.0, "p999_us": None}
    )
    faster["stages"]["app_rx"]["completion_time_per_packet_us"] = 0.04
    run = run_of(tmp_path, "axio", text(LONG, faster))
    assert stages(run)["app_rx"][1] == pytest.approx((20 * 20 + 40 * 60) / 80)
    values = {value.name: value.value for value in run.record.imported.values}
    assert (values["End-to-end"], values["p99, lowest"], values["p99, highest"]) == (40.0, 4.0, 9.0)
    assert values["dispatcher_enqueue_drop_count"] == 4 and values["windows"] == 2


def test_the_compact_form_needs_the_side(tmp_path):
    assert "--side" in refusal(tmp_path, "axio", text(COMPACT))
    run = run_of(tmp_path, "axio", text(COMPACT), "--side", "client")
    assert {row.endpoint for row in summarise(run).stages} == {"client"}


def test_windows_that_axio_calls_invalid_are_left_out(tmp_path):
    bad = changed(LONG, window_id=11, throughput={"e2e_mpps": 99.0})
    bad["window"] |= {"measurement_valid": False, "invalid_reasons": ["no completion"]}
    run = run_of(tmp_path, "axio", text(LONG, bad))
    assert {value.name: value.value for value in run.record.imported.values}["End-to-end"] == 20.0
    assert any("1 of 2 windows are left out" in note and "no completion" in note for note in run.record.notes)
    assert "calls every window invalid" in refusal(tmp_path, "axio", text(bad))


def test_a_stall_longer_than_what_holds_it(tmp_path):
    odd = changed(LONG)
    odd["stages"]["dispatcher_rx"]["stall_time_per_packet_us"] = 0.06
    run = run_of(tmp_path, "axio", text(odd))
    assert stages(run)["disp_rx"][1] is None and any(note.startswith("disp_rx: a stall") for note in run.record.notes)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("hello", "not JSON"),
        ("[1]", "not a window"),
        (json.dumps(changed(LONG, schema="axio.metrics/v2")), "not a window"),
        (json.dumps(LONG) + "\n" + json.dumps(LONG), "window_id 10 stands twice"),
        (json.dumps(changed(LONG, counters={"many": 1 << 64})), "counters.many"),
        (json.dumps(changed(LONG, counters={"\ud800": 1})), "counters"),
        (json.dumps(changed(LONG, window_id=-1)), "window_id"),
        (json.dumps(changed(LONG, throughput={"e2e_mpps": -1})), "throughput.e2e_mpps"),
        (json.dumps(changed(LONG, throughput={"e2e_mpps": "20"})), "throughput.e2e_mpps"),
        (json.dumps(changed(LONG, stages={})), "stages: app_tx"),
        ('{"schema":"axio.metrics/v1","stages":NaN}', "window_id"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_is_none_is_refused_with_its_place(tmp_path, line, words):
    said = refusal(tmp_path, "axio", text(LONG) + line + "\n")
    assert ":2: " in said and words in said


def test_lines_of_two_sides_are_refused(tmp_path):
    other = changed(LONG, identity={"role": "client"})
    assert "client and server" in refusal(tmp_path, "axio", text(LONG, other))
    assert "--side" in refusal(tmp_path, "axio", text(LONG), "--side", "client")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda x: st.lists(x) | st.dictionaries(st.text(max_size=5), x),
    )
)
def test_no_document_is_more_than_refused(value):
    for document in (value, LONG | {"stages": value}, LONG | {"counters": value}, LONG | {"window": value}):
        windows, faults = metrics_lines.windows_of(text(document) if not isinstance(document, float) else "1\n")
        assert windows or faults


@given(st.lists(st.tuples(st.floats(0.001, 100), st.floats(0, 10), st.floats(0, 1)), min_size=1, max_size=8))
def test_a_mean_lies_between_its_windows(seen):
    windows = []
    for number, (mpps, whole, part) in enumerate(seen):
        window = changed(LONG, window_id=number, throughput={"e2e_mpps": mpps})
        window["stages"]["app_rx"] = {"completion_time_per_packet_us": whole, "stall_time_per_packet_us": whole * part}
        windows.append(window)
    found, faults = metrics_lines.windows_of(text(*windows))
    assert not faults
    row = next(row for row in metrics_lines.stage_rows("server", found) if row.stage == "app_rx")
    stalls = [1000 * whole * part for _, whole, part in seen]
    assert min(stalls) - 1e-6 <= row.stall_ns <= max(stalls) + 1e-6 and row.work_ns >= -1e-6
