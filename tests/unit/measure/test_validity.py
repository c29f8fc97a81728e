"""Validity of a run: excluded windows, slow generators, clocks."""

from pathlib import Path

import pytest
import sample_lines as sample
from from_the_world import FILES
from sample_records import record
from validity_tools import LIMITS, SPAN, changed, check, finished, judged, measured_of, rated

from windtunnel.engine.drops import DROPS
from windtunnel.engine.plan import Load, LoadPhase
from windtunnel.measure.validity import Slack, excluded_windows, generator
from windtunnel.measure.validity.accounting import interrupted_check
from windtunnel.measure.validity.traffic import traffic_check
from windtunnel.results.charts.run import throughput
from windtunnel.runs import Run, Verdict
from windtunnel.runs.notices import notices
from windtunnel.runs.rows import WorkerRow
from windtunnel.runs.summary import rejected_words, summarise
from windtunnel.runs.validity import ExcludedWindow, Validity, counted, not_excluded
from windtunnel.scenario.validity_keys import Validity as Limits


def test_a_clean_run_passes_every_check():
    engine, windows = finished()
    found = judged(engine, windows)
    assert found.reasons == [] and found.excluded == []
    states = dict.fromkeys(("windows", "clock", "steady", "traffic", "accounting", "resolution", "emulated"), "good")
    # no ledger of these samples closes, and no window was probed
    assert {c.name: c.state for c in found.checks} | {"resolution": "good"} == states | {
        "generator": "unknown",
        "host state": "unknown",
    }
    assert check(found, "emulated").words == 'the wire "ring" has no NIC'
    engine.result = engine.result.model_copy(update={"clock_error_ppm": -250.0})
    assert judged(engine, windows).reasons == ["clock: the TSC and the kernel's clock differ by 250 ppm"]


def test_calls_as_short_as_a_time_stamp_need_no_action():
    engine, windows = finished()
    engine.ready = engine.ready.model_copy(update={"stamp_ticks": 10**6})
    found = check(judged(engine, windows), "resolution")
    assert found.state == "note" and "costs more than 20% of a call of client app_tx" in found.words


def test_batches_longer_than_interrupted_above_are_reported():
    def worker(interrupted, preempted=0.0):
        return WorkerRow(0, 1, "server", 1.0, 1 - interrupted, 0.0, 0.0, interrupted, 0.0, preempted)

    assert interrupted_check([worker(0.05), worker(0.1)], 50_000).state == "good"
    assert interrupted_check([worker(0.9, preempted=0.8)], 50_000).state == "good"  # the kernel ran others
    found = interrupted_check([worker(0.05), worker(0.99)], 50_000)
    assert (
        found.state == "warning" and found.value == 0.99 and "50" in found.words and "interrupted_above" in found.words
    )


def with_traffic(window, received, **drops):
    """What the server received, and what its disp_rx dropped of it."""
    ports = [
        port.model_copy(update={"rx_packets": received if port.endpoint == "server" else 0, "tx_packets": 0})
        for port in window.ports
    ]
    stages = [
        stage.model_copy(update={"drops": drops if (stage.endpoint, stage.stage) == ("server", "disp_rx") else {}})
        for stage in window.stages
    ]
    return window.model_copy(update={"ports": ports, "stages": stages})


@pytest.mark.parametrize(
    ("received", "drops", "state", "words"),
    [
        (
            100,
            {"tagged": 100},
            "warning",
            "all 100 packets that it received (tagged 100). tagged: The frame has a VLAN tag, and the endpoint is in no VLAN. Set `vlan`",
        ),
        (
            100,
            {"not_udp": 60, "runt": 40},
            "warning",
            "(not_udp 60, runt 40). not_udp: The packet is neither UDP nor a ping.",
        ),
        (100, {"stray_hello": 100}, "warning", "stop it, or give this run another `port`"),
        (100, {"of_a_later_release": 100}, "warning", "(of_a_later_release 100)"),
        (100, {"tagged": 99}, "good", ""),
        (100, {"by_handler": 100}, "good", ""),
        (100, {"emulated_loss": 60, "by_handler": 40}, "good", ""),
        (0, {}, "bad", "no packet was received or sent: nothing was measured"),
    ],
)
def test_a_run_that_used_no_packet_says_so(received, drops, state, words):
    _, windows = finished()
    found = traffic_check({"windtunnel": [with_traffic(window, received, **drops) for window in windows[:1]]})
    assert found.state == state and words in found.words


def test_without_a_window_no_traffic_is_missed():
    assert traffic_check({"windtunnel": []}).state == "unknown"


def test_a_run_without_a_packet_is_invalid():
    engine, windows = finished()
    found = judged(engine, [with_traffic(window, 0) for window in windows])
    assert "traffic: no packet was received or sent: nothing was measured" in found.reasons


def lasting(window, span_ns):
    return window.model_copy(update={"end_ns": window.start_ns + span_ns})


def without_link(window, ns):
    port, *others = window.ports
    return window.model_copy(update={"ports": [port.model_copy(update={"link_down_ns": ns}), *others]})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: changed(w, preempted_ns=SPAN // 4), "preempted on CPU 0 for 25% of the window"),
        (lambda w: changed(w, preempted_ns=SPAN * 13 // 10), "preempted on CPU 0 for 100% of the window"),
        (lambda w: changed(w, steal_ns=SPAN // 5), "steal on CPU 0 for 20% of the window"),
        (lambda w: changed(w, chain_ticks=w.workers[0].chain_ticks * 1.25), "20% slower"),
        (lambda w: without_link(w, SPAN // 4), "the link of the client was down for 25% of the window"),
        (lambda w: lasting(w, SPAN + 300_000_000), "window lasted 800 ms instead of 500 ms: the process was stopped"),
    ],
)
def test_a_window_is_excluded_with_its_reason(change, reason):
    engine, windows = finished()
    windows[-2] = change(windows[-2])
    found = judged(engine, windows)
    (mark,) = found.excluded
    assert (mark.engine, mark.window, len(mark.reasons)) == ("windtunnel", windows[-2].index, 1)
    assert reason in mark.reasons[0] and found.reasons == [] and check(found, "windows").value == 0.1


@pytest.mark.parametrize(
    ("change", "limits"),
    [
        (lambda w: changed(w, preempted_ns=SPAN // 10, steal_ns=SPAN // 10), LIMITS),
        (lambda w: changed(w, preempted_ns=SPAN * 13 // 10), Limits(max_preempted=1)),
        (lambda w: lasting(w, SPAN + SPAN // 10), LIMITS),
        (lambda w: lasting(w, SPAN + 300_000_000), Limits(max_preempted=0.6)),
        (lambda w: lasting(w, SPAN + 300_000_000), Limits(max_preempted=1)),
    ],
)
def test_a_window_within_the_limits_counts(change, limits):
    engine, windows = finished()
    windows[-1] = change(windows[-1])
    assert judged(engine, windows, limits).excluded == []
    assert len(judged(engine, windows, Limits(max_preempted=0.09)).excluded) == 1


def test_a_run_without_a_link_is_invalid_and_says_what_to_look_at():
    engine, windows = finished()
    found = judged(engine, [without_link(w, 3 * SPAN) for w in windows])
    assert all("was down for 100% of the window" in reason for mark in found.excluded for reason in mark.reasons)
    assert any("see to its cable and its other end" in reason for reason in found.reasons)


def test_an_engine_without_a_window_makes_the_run_invalid():
    _, windows = finished(2)
    windows = measured_of(windows)
    of_both = {"server": windows, "client": windows}
    marks = [ExcludedWindow(engine="client", window=window.index, reasons=["preempted"]) for window in windows]
    found = excluded_windows.windows_check(of_both, marks, Limits(max_excluded_windows=0.5))
    assert found.state == "bad" and found.words.startswith("2 of 4 windows excluded: none is left of client")
    assert excluded_windows.windows_check(of_both, marks[:1], Limits(max_excluded_windows=0.5)).state == "good"


def test_a_window_that_ends_a_little_late_counts():
    engine, windows = finished()
    short = engine.plan.phases.model_copy(update={"window_ns": 20_000_000})
    engine = engine.model_copy(update={"plan": engine.plan.model_copy(update={"phases": short})})
    windows = [lasting(window, 20_000_000) for window in windows]
    assert judged(engine, [*windows[:-1], lasting(windows[-1], 30_000_000)]).excluded == []
    assert len(judged(engine, [*windows[:-1], lasting(windows[-1], 30_000_001)]).excluded) == 1


def test_the_programs_that_preempted_are_in_the_words():
    engine, windows = finished()
    windows[-1] = changed(windows[-1], preempted_ns=SPAN // 2)
    words = check(judged(engine, windows, preempting="stress-ng 5%, sshd 1%"), "windows").words
    assert words.endswith("for 5% of the time, by stress-ng 5%, sshd 1%)")
    assert "by stress-ng" not in check(judged(*finished(), preempting="stress-ng 5%"), "windows").words


def test_metrics_of_a_run_with_too_few_windows_left_are_of_all_of_them():
    engine, windows = finished()
    busy = [changed(w, preempted_ns=SPAN) if w.index >= windows[-6].index else w for w in windows]
    found = judged(engine, busy)
    assert found.too_few_left and len(found.excluded) == 6
    assert counted({engine.name: busy}, found) == {engine.name: busy}
    assert len(measured_of(not_excluded({engine.name: busy}, found)[engine.name])) == 4
    few = judged(engine, [*windows[:-1], changed(windows[-1], preempted_ns=SPAN)])
    assert not few.too_few_left and len(measured_of(counted({engine.name: windows}, few)[engine.name])) == 9


def test_the_last_window_also_takes_what_is_left_of_the_duration():
    engine, windows = finished()
    last = windows[-1]
    windows[-1] = last.model_copy(update={"end_ns": last.end_ns + SPAN // 3})
    assert len(judged(engine, windows).excluded) == 1
    phases = engine.plan.phases
    longer = phases.model_copy(update={"duration_ns": 10 * phases.window_ns + SPAN // 3})
    engine.plan = engine.plan.model_copy(update={"phases": longer})
    assert judged(engine, windows).excluded == []


@pytest.mark.parametrize("missing", ["hello", "ready", "result"])
@pytest.mark.parametrize("windows", [1, 2, 9])
def test_a_run_that_was_stopped_is_checked_over_what_it_measured(missing, windows):
    engine, seen = finished(windows)
    found = judged(engine.model_copy(update={missing: None}), seen)
    assert found.reasons == [] and check(found, "windows").state == "good"


def test_too_many_excluded_windows_make_the_run_invalid_and_the_reason_names_the_preemption():
    engine, windows = finished()
    busy = [changed(w, preempted_ns=SPAN // 2) if w.phase == "measure" else w for w in windows]
    found = judged(engine, busy)
    cpu = windows[0].workers[0].cpu
    (reason,) = found.reasons
    assert reason.startswith("windows: 10 of 10 windows excluded, the limit is 50%")
    assert f"preempted on CPU {cpu} for 50% of the time" in reason
    assert judged(engine, windows[:-5] + busy[-5:]).reasons == [], "half of them may be"
    assert judged(engine, windows[:-6] + busy[-6:]).reasons != []
    assert judged(engine, busy[:-1] + windows[-1:], Limits(max_excluded_windows=1)).reasons == []
    assert "none is left" in judged(engine, busy, Limits(max_excluded_windows=1)).reasons[0]


def test_excluded_windows_are_in_no_metric_of_any_engine():
    _, windows = finished(4)
    one, other = measured_of(windows), measured_of(windows)
    late = [w.model_copy(update={"index": w.index + 7}) for w in other]
    marks = Validity(checks=[], excluded=[ExcludedWindow(engine="client", window=one[2].index, reasons=["x"])])
    left = counted({"client": windows, "server": late}, marks)
    assert [w.index for w in measured_of(left["client"])] == [one[n].index for n in (0, 1, 3)]
    assert [w.index for w in left["server"]] == [late[n].index for n in (0, 1, 3)]
    assert len(left["client"]) == len(windows) - 1  # the warm-up stays where it was


def opened(engine, windows, **of_workload):
    """The same run in an open loop."""
    phase = LoadPhase(length_ns=None, rate_per_s=1e5, arrivals="constant", on_ns=None, off_ns=None)
    workload = engine.plan.workloads[0].model_copy(update={"load": Load(mode="open", phases=[phase], lead=0)})
    engine.plan = engine.plan.model_copy(update={"workloads": [workload]})
    return engine, [
        w.model_copy(update={"workloads": [w.workloads[0].model_copy(update=of_workload)]})
        if w.phase == "measure"
        else w
        for w in windows
    ]


def with_full_port(window):
    """The client's port took nothing in any call."""

    def held(stage):
        client = (stage.endpoint, stage.stage) == ("client", "nic_tx")
        return stage.model_copy(update={"stalled_calls": stage.calls}) if client else stage

    return window.model_copy(update={"stages": [held(stage) for stage in window.stages]})


@pytest.mark.parametrize(
    ("sent", "inflight_full", "change", "state", "words"),
    [
        (9_000, 0, None, "bad", ["the client is too slow for", "10.0% of its messages are unsent"]),
        (9_950, 0, None, "good", []),  # it catches up
        (9_000, 10**6, None, "warning", ["overload: 10.0%"]),
        (9_000, 0, with_full_port, "warning", ["overload: 10.0%"]),  # the data plane's fault
    ],
)
def test_a_client_is_too_slow_where_nothing_else_keeps_it_from_sending(sent, inflight_full, change, state, words):
    engine, windows = opened(*finished(), offered=10_000, sent=sent, inflight_full=inflight_full)
    found = judged(engine, [change(window) for window in windows] if change else windows)
    generator_check = check(found, "generator")
    assert generator_check.state == state and all(word in generator_check.words for word in words)
    assert found.reasons == ([f"generator: {generator_check.words}"] if state == "bad" else [])


def waiting(sides, share, number=0):
    return Slack("windtunnel", number, number, sides, (share + 0.001, share - 0.001) * 4, (), (0.0,) * 8, (share,) * 8)


def test_in_a_closed_loop_the_side_that_waits_less_is_named():
    engine, windows = finished()

    def found(*slacks):
        (one,) = generator.checks(measured_of(windows), engine.plan, [], slacks, LIMITS)
        return one

    limits = found(waiting("client", 0.01), waiting("server", 0.5, 1))
    assert limits.state == "warning"
    assert limits.words.startswith(
        "the client is the bottleneck: the client has a slack of 1.0%, the server of 50.0%. Give "
    )
    assert found(waiting("client", 0.5), waiting("server", 0.01, 1)).state == "good"
    assert found(waiting("client", 0.9), waiting("server", 0.95, 1)).state == "good"  # both wait: nobody limits
    assert found(waiting("client", 0.01), waiting("server", 0.01, 1)).state == "unknown"
    assert found(waiting("client + server", 0.01)).state == "unknown"


def test_percentiles_that_are_not_shown_are_named():
    engine, windows = finished(1)
    few = sample.histogram([1000, 2000, 3000])
    one = windows[-1].workloads[0].model_copy(update={"latency": few, "responses": 3})
    windows[-1] = windows[-1].model_copy(update={"workloads": [one]})
    found = check(judged(engine, windows), "samples")
    assert found.state == "note"
    assert found.words == "3 responses of echo are too few for p90, p99, p99.9: p99.9 needs 1000"


def test_a_run_without_windows_is_judged():
    engine, windows = finished(0)
    assert excluded_windows.windows_check({engine.name: []}, [], LIMITS).state == "good"
    assert judged(engine, windows).excluded == []


def run_of(engine, windows, validity, verdict):
    return Run(Path("run"), record(engine, verdict=verdict, validity=validity), {engine.name: windows})


def invalid_run(engine, windows):
    validity = judged(engine, windows)
    return run_of(engine, windows, validity, Verdict(False, [*validity.reasons, "peer lost: gone"]))


def test_the_words_say_which_windows_rejected_metrics_are_of():
    engine, windows = finished()
    assert rejected_words(invalid_run(engine, windows)) == (
        "the metrics are rejected; they are of all 10 measured windows, and no check of these windows failed"
    )
    some = invalid_run(engine, [*windows[:-1], changed(windows[-1], preempted_ns=SPAN)])
    assert "of the 9 windows of 10 that are not excluded, and no check" in rejected_words(some)
    assert [each.kind for each in notices(some, summarise(some)) if "1 window excluded" in each.words] == ["note"]
    busy = invalid_run(engine, [changed(w, preempted_ns=SPAN) if w.phase == "measure" else w for w in windows])
    assert rejected_words(busy) == "the metrics are rejected; they are of all 10 measured windows"
    shapes = throughput(busy)["layout"]["shapes"]
    assert [shape["label"]["text"] for shape in shapes] == ["warmup", "excluded"], "shaded where they count, too"
    assert not any("windows excluded" in each.words for each in notices(busy, summarise(busy)))
    unchecked = run_of(engine, windows, None, Verdict(False, ["peer lost: gone"]))
    assert rejected_words(unchecked).endswith("all 10 measured windows, which were not checked")


def test_metrics_use_only_windows_that_are_not_excluded():
    engine, windows = finished(4)
    spoilt = measured_of(windows)[1]
    windows = [rated(w, 0) if w.index == spoilt.index else w for w in windows]
    marks = Validity(checks=[], excluded=[ExcludedWindow(engine="windtunnel", window=spoilt.index, reasons=["x"])])

    def responses(validity):
        summary = summarise(run_of(engine, windows, validity, Verdict(True)))
        return summary.workloads[0].responses_per_s, summary.measured_s

    (whole, whole_s), (left, left_s) = responses(None), responses(marks)
    assert left == pytest.approx(whole * 4 / 3) and left_s == pytest.approx(whole_s * 3 / 4)


def replaying(tmp_path, frames):
    """The plan of a run that played a capture."""
    (tmp_path / "x").write_bytes(frames)
    plan = sample.plan()
    end = plan.endpoints[0]
    port = end.port.model_copy(update={"options": {"replay": str(tmp_path / "x")}})
    return plan.model_copy(update={"endpoints": [end.model_copy(update={"port": port}), *plan.endpoints[1:]]})


@pytest.mark.parametrize(
    ("reason", "frames", "words"),
    [
        ("tagged", (FILES / "vlan.pcap").read_bytes(), "they have the tag of VLAN 200: server.vlan = 200"),
        ("other_vlan", (FILES / "vlan.pcap").read_bytes(), "they have the tag of VLAN 200: server.vlan = 200"),
        ("tagged", b"", DROPS["tagged"].words),
        ("not_udp", (FILES / "vlan.pcap").read_bytes(), DROPS["not_udp"].words),
        ("runt", b"", DROPS["runt"].words),
    ],
)
def test_a_capture_that_was_dropped_names_its_vlan(tmp_path, reason, frames, words):
    _, windows = finished()
    seen = {"windtunnel": [with_traffic(window, 100, **{reason: 100}) for window in windows[:1]]}
    found = traffic_check(seen, plans=[replaying(tmp_path, frames)])
    assert (
        found.state == "warning"
        and f"all 100 packets that it received ({reason} 100). {reason}: {words}" in found.words
    )


def test_a_run_that_used_no_packet_says_so_on_a_busy_host_too():
    engine, windows = finished()
    busy = [changed(with_traffic(window, 100, tagged=100), preempted_ns=SPAN // 2) for window in windows]
    found = judged(engine, busy)
    assert check(found, "windows").state == "bad"
    assert "dropped all 1,000 packets that it received (tagged 1,000)" in check(found, "traffic").words
    assert check(found, "traffic").value == 1.0, "the share that was dropped"
    assert all(
        each.name != "traffic" for each in judged(engine, [changed(w, preempted_ns=SPAN // 2) for w in windows]).checks
    )
