"""Causes: evidence, a remedy that `check` accepts, and the gain to expect, each on a record made for it."""

import json
import re
from pathlib import Path

import pytest
import sample_lines as sample
from diagnosed_runs import made, opened
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from windtunnel.engine.plan import Handler, Sizes
from windtunnel.engine.verdict import Verdict
from windtunnel.engine.windows import PoolLevel, RingLevel
from windtunnel.part_registry import part_modules
from windtunnel.parts.diagnose import causes as causes_package
from windtunnel.parts.diagnose.cause import Relief, gain
from windtunnel.parts.diagnose.causes import CAUSES, LEAST_GAIN, find_causes
from windtunnel.parts.diagnose.conduct import for_turns
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.model import BOUNDLESS, Gain, Interval, Remedy
from windtunnel.parts.diagnose.observation import Observation, observe
from windtunnel.runs import Run
from windtunnel.runs.validity import Check, ExcludedWindow, HostState, Validity
from windtunnel.scenario import load
from windtunnel.stats.mean import Estimate

CHECKOUT = Path(__file__).parents[3]
HOST = {"cpus": {"allowed": [0, 1, 2, 3]}}
WAITING = {"client": 0.7, "server": 0.6}
"""Both workers have slack: none of them limits."""
FULL_LINE = {"client": 0.8, "server": 0.7, "drops": {"emulated_queue_full": 5}}
COSTLY_APP = {("server", "app_rx"): 6.0}


def causes(run):
    return {cause.code: cause for cause in diagnose(run).causes}


def changed(run, change):
    """The run with each window changed."""
    return Run(run.path, run.record, {name: [change(window) for window in of] for name, of in run.windows.items()})


def with_stage(window, side, stage, **what):
    stages = [s.model_copy(update=what) if (s.endpoint, s.stage) == (side, stage) else s for s in window.stages]
    return window.model_copy(update={"stages": stages})


def checked(tmp_path, cause, scenario="# ?\n[client]\n[server]\n[[workload]]\nhandler = 'l_app'\n"):
    """Raises UserError for words that `windtunnel check --set` refuses."""
    file = tmp_path / "s.toml"
    file.write_text(scenario)
    return load(file, cause.sets)


def test_every_cause_has_a_code_of_its_own():
    assert all(code == check.code and check.title for code, check in CAUSES.items())


def test_every_cause_of_the_folder_is_listed_and_has_a_row_on_the_page():
    folder = Path(causes_package.__file__).parent
    with_cause = [
        file for file in folder.glob("*.py") if re.search(r"^CAUSE = |^def both_sides", file.read_text(), re.MULTILINE)
    ]
    page = (CHECKOUT / "docs/how-to/diagnose.md").read_text()
    of_parts = [check for module in part_modules("own_causes") for check in module.CAUSES]
    assert len(CAUSES) == len(with_cause) + len(of_parts) and with_cause
    assert CAUSES.keys() == set(re.findall(r"^\| \[?`([a-z-]+)`", page, re.MULTILINE))


def test_a_costly_handler():
    run = made(client=0.6, server=0.05, work=COSTLY_APP)
    found = causes(run)["handler"]
    assert "server app_rx calls l_app" in found.evidence and "60% of its worker's work" in found.evidence
    # half of 60% of 95%: 28.5% of the time less, +40%; the client comes later
    assert found.gain.middle == pytest.approx(100 * (1 / (1 - 0.285) - 1), abs=0.5)
    assert found.confidence == "high" and found.gain.low < found.gain.high


def test_its_gain_ends_where_the_next_worker_is_full():
    found = causes(made(client=0.1, server=0.05, work=COSTLY_APP))["handler"]
    assert found.gain.middle == pytest.approx(100 * (1 / 0.9 - 1), abs=1.0)


def test_a_packet_handler_in_disp_rx():
    plan = sample.plan()
    handled = plan.workloads[0].model_copy(
        update={"handler": None, "packet_handler": Handler(name="l2fwd", options={})}
    )
    run = made(plan=plan.model_copy(update={"workloads": [handled]}), work={("server", "disp_rx"): 6.0})
    assert "server disp_rx calls l2fwd" in causes(run)["handler"].evidence


def with_server(run, **about):
    """The run with these keys of the server's endpoint in its plan."""
    (engine,) = run.record.engines
    client, server = engine.plan.endpoints
    engine.plan = engine.plan.model_copy(update={"endpoints": [client, server.model_copy(update=about)]})
    return run


def small(size, **more):
    """A run with such batches of server app_rx and of the stages in `more`, always full."""
    run = made(client=0.9, server=0.05)
    sizes = {"app_rx": size} | more
    batch = run.record.engines[0].plan.endpoints[1].batch.model_copy(update=sizes)
    for stage, full in sizes.items():
        run = changed(run, lambda w, s=stage, n=full: with_stage(w, "server", s, burst={n: 500_000 // n}))
    return with_server(run, batch=batch)


def test_small_batches(tmp_path):
    found = causes(small(2))["small-batches"]
    assert found.sets == ["server.batch.app_rx=32"]
    assert checked(tmp_path, found).server.batch.app_rx == 32
    assert "most calls of server app_rx that move something move 2" in found.evidence
    # at most all of the work that 2 packets share now and 32 then, before the client is full
    assert found.gain.low == 0 and found.gain.high == pytest.approx(100 * (1 / (1 - 0.95 * 15 / 16) - 1), rel=0.05)
    every = causes(small(2, nic_rx=4))["small-batches"]
    assert every.sets == ["server.batch.app_rx=32", "server.batch.nic_rx=32"]


def timed(call, packet):
    """Changes a window so that the server's calls, half of them of 1 packet and half of 2, cost that many ticks a call and a packet."""

    def of(window):
        stages = []
        for stage in window.stages:
            if stage.endpoint == "server":
                half, objects = 100_000, 300_000
                sums = {
                    "timed_work_calls": 2 * half, "timed_objects_squared": 5 * half, "timed_objects": objects,
                    "timed_objects_cycles": half * (call + packet) + half * 2 * (call + 2 * packet),
                }  # fmt: skip
                sums |= {"calls": stage.objects * 2 // 3, "empty_calls": 0, "stalled_calls": 0}
                stage = stage.model_copy(
                    update=sums | {"busy_cycles": 2 * half * call + objects * packet, "stall_cycles": 0}
                )
            stages.append(stage)
        return window.model_copy(update={"stages": stages})

    return of


def test_small_batches_by_what_a_call_costs(tmp_path):
    """Where calls moved different numbers, their cost is told apart and the gain is no bound."""
    bound = causes(small(2))["small-batches"]
    split = causes(changed(small(2), timed(call=30, packet=70)))["small-batches"]
    assert "go into calls before they move anything" in split.evidence and split.not_measured == []
    assert "go into calls" not in bound.evidence and bound.not_measured
    cheap = causes(changed(small(2), timed(call=20, packet=80)))["small-batches"]
    assert 0 <= cheap.gain.low <= cheap.gain.high < split.gain.low <= split.gain.high < bound.gain.high


def pool(free, stalled, side="client", stage="app_tx"):
    """Workers that wait, beside a pool in which so many mbufs were free, and a stage that stalled so often."""

    def of(window):
        levels = [PoolLevel(endpoint=side, size=8191, free=free)]
        return with_stage(window.model_copy(update={"pools": levels}), side, stage, stalled_calls=stalled)

    return changed(made(**WAITING), of)


def test_a_pool_without_mbufs(tmp_path):
    found = causes(pool(free=3, stalled=10))["few-mbufs"]
    assert "3 of 8,191 mbufs were free" in found.evidence and found.sets == ["client.mempool.size=16383"]
    assert checked(tmp_path, found).client.mempool.size == 16383
    assert (found.gain.low, found.gain.high) == (0.0, pytest.approx(150.0, abs=1))


def test_what_a_call_stalled_for_is_told_apart():
    def of(counters):
        return lambda window: with_stage(window, "client", "app_tx", **counters)

    run = pool(free=3, stalled=10)
    assert causes(run)["few-mbufs"].not_measured
    for_ring = changed(run, of({"stalled_for_mbufs": 0, "stalled_for_ring": 10, "stalled_for_port": 0}))
    assert "few-mbufs" not in causes(for_ring)
    told = causes(changed(run, of({"stalled_for_mbufs": 4, "stalled_for_ring": 6, "stalled_for_port": 0})))["few-mbufs"]
    assert told.not_measured == [] and "stalled for mbufs in 48 calls" in told.evidence


def full_ring(stalled=5, **slack):
    def of(window):
        levels = [RingLevel(name="client application 0 to dispatcher 0", size=1023, used=1000)]
        return with_stage(window.model_copy(update={"rings": levels}), "client", "app_tx", stalled_calls=stalled)

    return changed(made(**(slack or WAITING)), of)


def test_a_ring_that_fills(tmp_path):
    found = causes(full_ring())["full-ring"]
    assert "up to 1,000 of 1,023" in found.evidence and found.sets == ["client.ring_size=2048"]
    assert checked(tmp_path, found).client.ring_size == 2048


def test_one_worker_and_a_free_cpu(tmp_path):
    found = causes(made(client=0.6, server=0.05, work={("server", "app_rx"): 4.0}, host=HOST))["one-worker"]
    assert found.sets == ["workload.0.colocate=false", "server.cores=[1, 2]"]
    assert checked(tmp_path, found).workload[0].colocate is False
    # both have half of 95%
    assert found.gain.low == 0 and found.gain.high == pytest.approx(100 * (1 / 0.475 - 1), abs=3)


def test_few_messages_in_flight(tmp_path):
    found = causes(made(client=0.8, server=0.6))["in-flight"]
    assert found.sets == ["client.inflight=2048"] and checked(tmp_path, found).client.inflight == 2048
    # at most twice the rate; a link at its rate would give nothing
    assert found.gain == Gain(0.0, 100.0) and found.confidence == "medium"
    # a worker with some slack could be filled; a full one could not
    assert causes(made(client=0.3, server=0.2))["in-flight"].gain == Gain(0.0, pytest.approx(25.0, abs=0.2))
    own = made(client=0.8, server=0.6, scenario={"workload": [{"handler": "l_app", "inflight": 1024}]})
    assert causes(own)["in-flight"].sets == ["workload.0.inflight=2048"]


def losing(lost):
    """A run with slack whose lost messages hold their places for 2 s."""
    plan = sample.plan()
    workload = plan.workloads[0].model_copy(update={"timeout_ns": 2_000_000_000})
    return made(0.8, 0.6, plan=plan.model_copy(update={"workloads": [workload]}), loads={"lost": lost})


def test_losses_hold_places(tmp_path):
    found = causes(losing(500))["losses"]
    assert "1.00 k/s lost x a timeout of 2.00 s = 2,000 places" in found.evidence
    assert found.sets and checked(tmp_path, found).workload[0].timeout < 10**9
    assert found.gain == Gain(0.0, pytest.approx(150.0))  # all places are held: until the server is full
    assert causes(losing(64))["losses"].gain == Gain(0.0, pytest.approx(100 * 256 / (1024 - 256)))
    assert "in-flight" not in causes(losing(500)) and "in-flight" in causes(losing(5)), "lost ones hold the places"
    filling = causes(made(client=0.3, server=0.2, loads={"lost": 500}))["losses"]
    assert filling.gain == Gain(0.0, pytest.approx(25.0, abs=0.1)) and not filling.against
    limited = causes(made(loads={"lost": 100}))["losses"]  # by a worker
    assert limited.gain is None and limited.against and limited.confidence == "low"


def test_no_cause_is_surer_than_its_run():
    unsettled = Verdict(False, ["steady: not settled: the response rate fell by 20%"])
    found = diagnose(made(client=0.6, server=0.05, work=COSTLY_APP, verdict=unsettled))
    assert found.causes and {cause.confidence for cause in found.causes} == {"low"}
    handler = next(cause for cause in found.causes if cause.code == "handler")
    assert handler.gain == causes(made(client=0.6, server=0.05, work=COSTLY_APP))["handler"].gain


def test_a_generator(tmp_path):
    found = causes(made(client=0.05, server=0.5, host=HOST))["generator"]
    assert found.sets == ["workload.0.client.apps=2", "client.cores=[0, 2]"]
    assert checked(tmp_path, found).workload[0].client.apps == 2
    assert found.gain.high == pytest.approx(100.0, abs=1)
    assert causes(made(client=0.05, server=0.5))["generator"].sets == []


def test_a_link_has_no_remedy_in_the_scenario():
    first, *_ = diagnose(made(**FULL_LINE)).causes
    assert (first.code, first.sets, first.gain, first.observable) == ("link", [], None, "guest")
    busy = preempted(made(**FULL_LINE), sample.WINDOW_NS // 10)
    assert [each.code for each in diagnose(busy).causes] == ["link", "host-time"]


def preempting(window, ns):
    workers = [w.model_copy(update={"preempted_ns": ns}) if w.worker == 1 else w for w in window.workers]
    return window.model_copy(update={"workers": workers})


def preempted(run, ns):
    return changed(run, lambda window: preempting(window, ns))


def test_the_time_of_the_host():
    found = causes(preempted(made(), sample.WINDOW_NS // 10))["host-time"]
    assert "the worker on CPU 1 had no CPU for 10.0% of the time" in found.evidence
    assert found.gain.low == pytest.approx(100 / 9) and found.gain.high == pytest.approx(100 / 9)
    assert "host-time" not in causes(preempted(made(), sample.WINDOW_NS // 10_000)), "it would print as 0.0%"
    marks = [ExcludedWindow(engine="windtunnel", window=0, reasons=["preempted on CPU 1 for 30% of the window"])]
    excluded = Validity(checks=[], excluded=marks)
    found = causes(preempted(made(validity=excluded), sample.WINDOW_NS // 10))["host-time"]
    assert "1 windows excluded, as for: preempted on CPU 1" in found.evidence and found.against
    assert "host-time" not in causes(made(validity=excluded)), "no window that counts has it"


def test_an_invalid_run_has_causes_too():
    bad = Check(name="windows", state="bad", words="10 of 12 windows excluded")
    reasons = ["windows: 10 of 12 windows excluded, preempted on CPU 0 for 60% of the time, by stress-ng"]
    found = causes(made(verdict=Verdict(False, reasons), validity=Validity(checks=[bad], excluded=[])))["host-time"]
    assert "by stress-ng" in found.evidence and found.gain is None and not found.against


def inside(kernel=0.0, faults=0, long=0.0, others=0.0, steal=0.0):
    """A run whose server's worker is in the kernel for that share of its time, with so many page faults a window, and in long calls of app_rx
    for that one, in part because others have its CPU, or other guests."""

    def of(window):
        spent = {"system_ns": round(kernel * sample.WINDOW_NS), "minor_faults": faults, "major_faults": 0}
        spent |= {"preempted_ns": round(others * sample.WINDOW_NS), "steal_ns": round(steal * sample.WINDOW_NS)}
        workers = [w.model_copy(update=spent) if w.worker == 1 else w for w in window.workers]
        window = window.model_copy(update={"workers": workers})
        if not long:
            return window
        (worker,) = (w for w in workers if w.worker == 1)
        return with_stage(
            window, "server", "app_rx", interrupted_calls=20, interrupted_cycles=round(long * worker.cycles),
            timed_calls=worker.loops - 20,
        )  # fmt: skip

    return changed(made(client=0.6, server=0.05), of)


def test_system_calls_of_the_limiting_worker():
    found = causes(inside(kernel=0.4, long=0.4))
    assert "is in the kernel for 40% of its time" in found["kernel"].evidence
    assert "of the calls of server app_rx, which calls l_app, take" in found["kernel"].evidence
    # 40% of the time less, until the client is full
    assert found["kernel"].gain.middle == pytest.approx(100 * (1 / 0.6 - 1), rel=0.05)
    assert "system call" in found["kernel"].remedy and not found["kernel"].not_measured
    assert "rare-calls" not in found, "the long calls are those in the kernel"


def test_page_faults_of_the_limiting_worker():
    found = causes(inside(kernel=0.4, faults=sample.WINDOW_NS // 2000))["kernel"]
    assert "page faults" in found.evidence and "hugepages" in found.remedy
    assert found.not_measured == ["in which stage: its calls are not long enough to tell"]


def test_long_calls_although_nobody_else_had_the_cpu():
    found = causes(inside(long=0.5))["rare-calls"]
    assert "50% of the time of the worker on CPU 1 go into long calls" in found.evidence
    # 20 calls of a window have half of its time
    assert f"take {sample.WINDOW_NS / 2 / 20 / 1e6:.1f} ms each" in found.evidence
    assert found.gain.middle == pytest.approx(100.0, rel=0.05)


def test_a_kernel_that_does_not_say_is_not_measured():
    assert any(line.startswith("kernel: time in the kernel") for line in diagnose(made()).not_measured)


def in_states(slow, fast, others=6):
    """Twelve windows, of which the last ones had another number of responses, in another state."""
    of = [
        HostState(name=name, words=f"CPUs 0 and 1: {name}", windows=len(indexes), indexes=indexes, line_ns=90.0,
                  responses_per_s={"echo": 1.0}, p50_ns={})
        for name, indexes in (("two-l3s", list(range(12 - others))), ("one-l3", list(range(12 - others, 12))))
    ]  # fmt: skip
    run = made(validity=Validity(checks=[], excluded=[], states=of, headline="two-l3s"))

    def rated(window):
        count = (slow if window.index < 12 - others else fast) + window.index % 2
        return window.model_copy(
            update={"workloads": [w.model_copy(update={"responses": count}) for w in window.workloads]}
        )

    return changed(run, rated)


def test_a_slow_state_of_the_host(tmp_path):
    found = causes(in_states(4_500_000, 12_000_000))["host-state"]
    assert found.sets == ["validity.state=one-l3"] and checked(tmp_path, found).validity.state == "one-l3"
    assert found.gain is None and "9.00 M/s" in found.evidence and "24.0 M/s" in found.evidence


def sized(per_byte, noise=0.0):
    """Messages of 100 to 1200 bytes; the server's work grows with them."""
    sizes = Sizes(kind="uniform", bytes=[100, 1200], weights=[])
    workload = sample.plan().workloads[0].model_copy(update={"request_sizes": sizes})
    run = made(client=0.5, server=0.05, plan=sample.plan().model_copy(update={"workloads": [workload]}))

    def of(window):
        bytes_ = 100 * (1 + window.index)
        ports = [
            p.model_copy(update={"rx_bytes": 500_000 * bytes_ if p.endpoint == "server" else 0}) for p in window.ports
        ]
        ticks = round((per_byte * bytes_ + noise * (-1) ** window.index) * 2.5 * 500_000)
        busy = next(s for s in window.stages if (s.endpoint, s.stage) == ("server", "app_rx")).busy_cycles
        window = with_stage(window, "server", "app_rx", busy_cycles=busy + ticks)
        return window.model_copy(update={"ports": ports})

    return changed(run, of)


def test_what_a_byte_costs_where_sizes_differ(tmp_path):
    found = causes(sized(0.3))["payload"]
    assert found.sets == ["workload.0.scan=false", "wire.udp_checksum=false"]
    assert checked(tmp_path, found).workload[0].scan is False
    assert found.evidence.startswith("a byte costs 0.3")


def of_one_size(bytes_, **keys):
    """All messages and their responses have that many bytes together."""

    def of(window):
        ports = [p.model_copy(update={"rx_bytes": 250_000 * bytes_}) for p in window.ports]
        return window.model_copy(update={"ports": ports})

    return changed(made(client=0.7, server=0.05, scenario=keys), of)


def test_what_every_byte_of_one_size_costs_is_a_bound(tmp_path):
    found = causes(of_one_size(2800, wire={"udp_checksum": True}))["payload"]
    assert found.sets == ["workload.0.scan=false", "wire.udp_checksum=false"] and checked(tmp_path, found)
    assert "2,800 bytes, and workload.0.scan and wire.udp_checksum have all of them read" in found.evidence
    # at most all of app_rx, disp_rx and disp_tx: three of the five stages of the server
    assert found.gain.basis == "bound" and found.gain.high == pytest.approx(
        100 * (1 / (1 - 0.95 * 3 / 5) - 1), rel=0.02
    )


def cut(packets, mtu):
    """A run in which each message is that many packets of the server, because of that MTU."""
    run = made(client=0.6, server=0.05)
    (engine,) = run.record.engines
    ends = [endpoint.model_copy(update={"mtu": mtu}) for endpoint in engine.plan.endpoints]
    engine.plan = engine.plan.model_copy(update={"endpoints": ends})
    stages = ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx")
    for stage in stages:
        run = changed(run, lambda w, s=stage: with_stage(w, "server", s, objects=500_000 * packets))
    return run


def test_an_mtu_that_cuts_messages(tmp_path):
    found = causes(cut(15, 576))["mtu"]
    assert found.sets == ["client.mtu=1500", "server.mtu=1500"] and checked(tmp_path, found).client.mtu == 1500
    assert "15.0 packets per message, as the MTU is 576; with 1500 it would be 5.8" in found.evidence
    assert found.gain.basis == "bound" and found.gain.high > 100
    jumbo = causes(cut(6, 1500))["mtu"]
    assert jumbo.sets == ["client.mtu=9000", "server.mtu=9000"] and "if the network carries it" in jumbo.remedy


def test_a_pool_without_a_cache(tmp_path):
    run = made(client=0.6, server=0.05)
    pool = run.record.engines[0].plan.endpoints[1].pool.model_copy(update={"cache": 0})
    found = causes(with_server(run, pool=pool))["mempool-cache"]
    assert found.sets == ["server.mempool.cache=256"] and checked(tmp_path, found).server.mempool.cache == 256
    assert "the server's mempool has no cache" in found.evidence and found.gain.basis == "bound"


@pytest.mark.parametrize(
    ("code", "little", "enough"),
    [
        ("handler", lambda: made(client=0.015, server=0.005, work=COSTLY_APP), lambda: made(client=0.03, server=0.005, work=COSTLY_APP)),
        ("host-time", lambda: preempted(made(), sample.WINDOW_NS // 60), lambda: preempted(made(), sample.WINDOW_NS // 40)),
    ],
)  # fmt: skip
def test_what_brings_less_than_two_percent_is_no_cause(code, little, enough):
    """As of a handler, if another worker is full 1.5% later."""
    assert code not in causes(little()) and code in causes(enough())


def test_that_with_the_greatest_gain_comes_first_and_without_one_last():
    run = made(client=0.6, server=0.05, work=COSTLY_APP, loads={"lost": 500}, host=HOST)
    found = diagnose(run).causes
    known = [(cause.gain.low, cause.gain.high) for cause in found if cause.gain]
    assert known == sorted(known, reverse=True) and len(known) >= 2
    assert [cause.gain is None for cause in found] == sorted(cause.gain is None for cause in found)


def test_a_gain_that_was_measured_stands_before_a_wide_bound():
    """One that may be anything up to 200% is not known to be anything."""
    run = made(client=0.6, server=0.05, work=COSTLY_APP, loads={"lost": 500}, host=HOST)
    before = diagnose(run)
    sure = Remedy(code="losses", sets=["a=1"], gain=Interval(mean=10.5, low=10.0, high=11.0))
    found, _ = find_causes(Observation(run), before.limit, [sure])
    handler, losses, one_worker = [cause for cause in found if cause.gain]
    assert [handler.code, losses.code, one_worker.code] == ["handler", "losses", "one-worker"]
    assert one_worker.gain.low == 0 and one_worker.gain.middle > losses.gain.middle


def test_what_the_host_may_not_have_taken_from_the_windows_that_count_is_no_cause():
    """Few windows are left of a busy host, and the interval of what it took in them contains 0."""
    marks = [ExcludedWindow(engine="windtunnel", window=0, reasons=["preempted on CPU 1 for 30% of the window"])]
    run = made(client=0.05, server=0.05, validity=Validity(checks=[], excluded=marks))
    run = changed(run, lambda w: preempting(w, sample.WINDOW_NS // 2 if w.index == 3 else 0))
    assert "host-time" not in causes(run)


def test_what_is_known_to_bring_next_to_nothing_stands_behind_a_bound():
    """As of a handler that is slow for one message of 64, on a host that runs something else for 1 to 3% of the time. The client keeps up: it
    could work less, or not."""
    run = made(client=0.01, server=0.0, work=COSTLY_APP)
    for stage in ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"):
        run = changed(run, lambda w, s=stage: with_stage(w, "client", s, burst={5: 100_000}))
    run = changed(run, lambda w: preempting(w, sample.WINDOW_NS // 100 * (1 + w.index % 3)))
    handler, host_time, *_ = diagnose(run).causes
    assert (handler.code, host_time.code) == ("handler", "host-time")
    assert handler.gain.low < host_time.gain.low < LEAST_GAIN < host_time.gain.high < handler.gain.high


def test_a_load_that_was_sent_whole_has_no_fault():
    assert [cause.code for cause in diagnose(opened(client=0.9, server=0.8)).causes] == []


@examples(25)
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_whatever_workers_wait_for_a_diagnosis_is_a_document(client, server):
    found = diagnose(made(client=client, server=server, windows=5, host=HOST))
    assert json.loads(found.model_dump_json())["limit"]["kind"] == found.limit.kind
    for cause in found.causes:
        assert cause.gain is None or cause.gain.low <= cause.gain.high


def with_ring(size, burst):
    """Rings of the server of that size; its app_rx always takes so many."""
    run = with_server(made(client=0.9, server=0.05), ring_size=size)
    for stage, sizes in (("app_rx", {burst: 500_000 // burst}), ("nic_rx", {5: 9})):
        run = changed(run, lambda w, s=stage, n=sizes: with_stage(w, "server", s, burst=n))
    return run


def test_a_ring_shorter_than_a_batch(tmp_path):
    found = causes(with_ring(4, 3))
    assert found["full-ring"].sets == ["server.ring_size=64"] and "small-batches" not in found
    assert checked(tmp_path, found["full-ring"]).server.ring_size == 64
    assert "move 3, all that its ring holds" in found["full-ring"].evidence


def on_one_cpu(run):
    """Its worker of the client has the server's stages, too."""
    (engine,) = run.record.engines
    client, server = engine.plan.workers
    both = client.model_copy(update={"stages": [*server.stages, *client.stages]})
    engine.plan = engine.plan.model_copy(update={"workers": [both]})

    def of(window):
        half = [{"busy_cycles": s.busy_cycles // 2, "idle_cycles": s.idle_cycles // 2} for s in window.stages]
        own = {"worker": 0, "stall_cycles": 0}
        stages = [s.model_copy(update=own | cycles) for s, cycles in zip(window.stages, half, strict=True)]
        return window.model_copy(update={"workers": window.workers[:1], "stages": stages})

    return changed(run, of)


def test_client_and_server_on_one_worker_and_a_free_cpu(tmp_path):
    found = causes(on_one_cpu(made(client=0.02, server=0.02, host=HOST)))["one-worker"]
    assert found.sets == ["client.cores=[1]", "server.cores=[0]"]
    assert checked(tmp_path, found).client.cores == (1,)
    assert found.gain is None and found.confidence == "low"
    assert "takes 490.0 ns per message, its server 490.0 ns" in found.evidence


@pytest.mark.parametrize(
    ("code", "run"),
    [
        ("handler", lambda: made(work={("server", "disp_rx"): 6.0})),  # another stage is the costliest
        ("handler", lambda: made(client=0.05, server=0.6, work=COSTLY_APP)),
        ("small-batches", lambda: changed(small(8), lambda w: with_stage(w, "server", "app_rx", burst={5: 9}))),
        ("small-batches", made),  # full ones of the usual size
        ("few-mbufs", lambda: pool(free=3000, stalled=10)),
        ("few-mbufs", lambda: pool(free=3, stalled=0)),
        ("few-mbufs", lambda: pool(3, 10, "server", "app_rx")),  # it responds in the request's mbuf
        ("full-ring", lambda: full_ring(stalled=0)),
        ("full-ring", lambda: full_ring(client=0.05, server=0.6)),  # of the worker that limits: it follows from that
        ("full-ring", lambda: with_ring(8, 3)),
        ("one-worker", lambda: made(host={"cpus": {"allowed": [0, 1]}})),
        ("one-worker", lambda: on_one_cpu(made(client=0.02, server=0.02))),
        ("in-flight", lambda: made(client=0.3, server=0.0)),
        ("in-flight", lambda: made(client=0.8, server=0.6, loads={"in_flight": 100})),  # the budget is not reached
        ("losses", lambda: made(client=0.8, server=0.6)),
        ("host-time", made),
        ("host-state", lambda: in_states(12_000_000, 4_500_000)),
        ("host-state", lambda: in_states(4_500_000, 4_500_000)),
        ("host-state", lambda: in_states(4_500_000, 12_000_000, others=3)),
        ("kernel", lambda: inside(kernel=0.01)),  # less than a run shows
        ("kernel", lambda: inside(long=0.5)),
        ("rare-calls", lambda: inside(kernel=0.5, long=0.5)),
        ("rare-calls", lambda: inside(long=0.5, others=0.5)),  # the host had the CPU
        ("rare-calls", lambda: inside(long=0.5, steal=0.5)),  # another guest had it
        ("rare-calls", made),
        ("payload", lambda: sized(0.0, noise=5.0)),
        ("payload", lambda: of_one_size(500, wire={"udp_checksum": True})),
        (
            "payload",
            lambda: of_one_size(2800, workload=[{"handler": "l_app", "scan": False}], wire={"udp_checksum": False}),
        ),
        ("mtu", lambda: cut(1, 576)),
        ("mtu", lambda: cut(6, 9000)),
        ("mempool-cache", made),
    ],
)
def test_what_is_no_such_cause(code, run):
    assert code not in causes(run())


@pytest.mark.parametrize("words", ["host-state: the state of the host", "payload: what a byte costs"])
def test_what_the_run_does_not_show_is_not_measured(words):
    assert any(line.startswith(words) for line in diagnose(made()).not_measured)


def with_state(bytes_, options=("state",), caches=((1, 1 << 15), (2, 1 << 20))):
    """A handler with options of that many bytes, on a host with these caches."""
    host = {"caches": [{"level": level, "bytes": size} for level, size in caches]}
    run = made(client=0.6, server=0.05, work=COSTLY_APP, host=host)
    (engine,) = run.record.engines
    (workload,) = engine.plan.workloads
    values = dict.fromkeys(options, str(bytes_)) | {"pattern": "random", "accesses": "16"}
    workload = workload.model_copy(update={"handler": workload.handler.model_copy(update={"options": values})})
    engine.plan = engine.plan.model_copy(update={"workloads": [workload]})
    return run


def test_a_state_that_does_not_fit_the_cache(tmp_path):
    found = causes(with_state(64 << 20))["working-set"]
    assert found.sets == ["workload.0.options.state=16384"]
    assert "workload.0.options.state is 67,108,864, and a core's own cache has 1.00 MiB" in found.evidence
    assert found.gain.basis == "bound" and found.gain.high > 100
    m_app = "# ?\n[client]\n[server]\n[[workload]]\nhandler = 'm_app'\n"
    assert checked(tmp_path, found, m_app).workload[0].options["state"] == 16384


def test_what_may_save_all_of_a_message_has_no_bound():
    """As of a stage whose interval is longer than a message."""
    seen = observe(made(client=0.5, server=0.05))
    saved = Estimate(seen.ns_a_message, 0.0, 2 * seen.ns_a_message)
    assert gain(seen, [Relief(slack, saved) for slack in seen.slacks]) == Gain(0.0, BOUNDLESS)


def test_a_handler_whose_calls_are_all_long_is_costly_and_not_rarely_so():
    def of(window):
        (worker,) = (w for w in window.workers if w.worker == 1)
        calls = {"interrupted_calls": worker.loops, "timed_calls": 0, "timed_objects": 0, "idle_cycles": 0}
        return with_stage(
            window, "server", "app_rx", **calls, interrupted_cycles=round(0.9 * worker.cycles), busy_cycles=0
        )

    found = causes(changed(with_state(64 << 20), of))
    assert "rare-calls" not in found
    assert "calls most of which are longer than accounting.interrupted_above" in found["handler"].evidence
    # 90% of 1,000 ns per message
    assert "takes 900.0 ns per message" in found["handler"].evidence
    assert "server app_rx takes 900.0 ns per message" in found["working-set"].evidence


@pytest.mark.parametrize(
    "run",
    [lambda: with_state(1 << 20), lambda: with_state(64 << 20, options=()), lambda: with_state(64 << 20, caches=())],
)
def test_what_is_no_working_set(run):
    assert "working-set" not in causes(run())


def test_what_runs_in_turns_with_the_file():
    assert for_turns(cut(15, 576)) == {"mtu": ["client.mtu=1500", "server.mtu=1500"]}
    assert for_turns(in_states(4_500_000, 12_000_000)) == {}, "a state changes no run"
    assert for_turns(small(2)) == {}, "batches change within a run"
    (engine,) = (
        run := of_one_size(2800, workload=[{"handler": "l_app", "scan": False}], wire={"udp_checksum": False})
    ).record.engines
    (workload,) = engine.plan.workloads
    long = {"request_bytes": 1400, "response_bytes": 64}
    engine.plan = engine.plan.model_copy(update={"workloads": [workload.model_copy(update=long)]})
    assert for_turns(run) == {"payload": ["workload.0.request=700"]}
