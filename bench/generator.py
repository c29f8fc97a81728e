"""How many packets a second does the open-loop generator send, compared with testpmd's flowgen, and how late are they?

One core, 64 bytes, the same net_null port that receives nothing and copies nothing, the same pool, descriptors and burst; accounting `counts`.
Both write headers with an IP checksum and no UDP checksum; ours also keeps a message's slot in flight and takes it back after a
timeout. Also shown: ours with UDP checksums, and txonly, which copies a packet and writes little. Then, at half of the rate
that was reached: the time from a message's intended moment to the real one, in windows without preemption, in times of a burst.
"""

from harness import testpmd
from harness.main import main
from harness.results import Result
from harness.session import Session, compared
from harness.statistics import Goal, extent, interval, judge

from windtunnel.runs.histogram import merge, percentile
from windtunnel.runs.metrics import measured

SCENARIO = "generator.toml"
QUIET = 0.001
"""Of a window's time: below this the kernel left the core to us."""


def measure(session: Session) -> list[Result]:
    sets = {"client.cores": f"[{session.cpu}]"}
    plans = {
        mode: session.plan(SCENARIO, sets) for mode in ("flowgen", "txonly")
    }  # each has a runtime directory of its own
    device = "net_null0,no-rx=1"
    rounds = session.in_turns(
        {
            "generator": lambda: session.run(SCENARIO, sets).forwarded(),
            "summing": lambda: session.run(SCENARIO, sets | {"wire.udp_checksum": "true"}).forwarded(),
            **{mode: lambda mode=mode: testpmd.forward(plans[mode], device, mode, session.seconds) for mode in plans},
        },
        "Mpps",
        1e6,
    )
    reached = interval([sample.value for sample in rounds.kept["generator"]]).median
    goal = Goal(0.9, "at least", aim=1.0)
    return [
        compared(session, "open-loop generator", rounds, "generator", "flowgen", "Mpps", 1e6, goal),
        compared(session, "the same with UDP checksums", rounds, "summing", "flowgen", "Mpps", 1e6),
        compared(session, "the same, against txonly", rounds, "generator", "txonly", "Mpps", 1e6),
        *_pacing(session, sets, reached / 2),
    ]


def _pacing(session: Session, sets: dict[str, str], rate: float) -> list[Result]:
    """p50 and p99 of how late messages leave, in times of a burst, a run a pair."""
    sets = sets | {"client.rate": f"{rate / 1e6:.3f}Mpps", "window": "50ms"}
    p50, p99, shares = [], [], []
    for _ in range(session.options.pairs):
        run = session.run(SCENARIO, sets)
        burst_ns = run.plan.endpoints[0].batch.app_tx / rate * 1e9
        every = measured(run.all_windows)
        quiet = [w for w in every if (w.workers[0].preempted_ns or 0) < QUIET * (w.end_ns - w.start_ns)]
        shares.append(len(quiet) / len(every))
        late = merge(window.workloads[0].pacing for window in quiet)
        if late and late.total:
            p50.append(percentile(late, 50) / burst_ns)
            p99.append(percentile(late, 99) / burst_ns)
    session.log(f"pacing at {rate / 1e6:.1f} Mpps: {len(p50)} runs with quiet windows, a burst is {burst_ns:.0f} ns")
    results = [_shown(session, "windows without preemption", shares, "of all")]
    if p50:
        spread, goal = interval(p50), Goal(1.0, "at most")
        verdict = judge(spread, goal)
        results += [
            Result("pacing error at half the rate, p50", session.memory, spread, "bursts", goal=goal, verdict=verdict),
            _shown(session, "pacing error at half the rate, p99", p99, "bursts"),
        ]
    return results


def _shown(session: Session, name: str, values: list[float], unit: str) -> Result:
    return Result(name, session.memory, extent(values), unit)


if __name__ == "__main__":
    main(__doc__, measure)
