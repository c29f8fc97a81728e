"""What does the probe cost testpmd, and how true is what it says of testpmd's time?

testpmd's macswap between two net_null ports, on one core, with bursts of 32, 4 and 1. The probe is loaded into the running process, and is
present for 5% of the time. Its cost is measured on testpmd's own counters, present and absent by turns, as every observation does. testpmd is
saturated, so a packet takes the time of a window over its packets: the reference for ns per packet.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from harness.main import main
from harness.results import Result
from harness.session import Session
from harness.statistics import Goal, Spread, judge
from harness.testpmd import NAME

from windtunnel.errors import UserError
from windtunnel.parts.attach.lines import WindowLine, counted
from windtunnel.parts.attach.observer import Observer, Presence, leased, opened
from windtunnel.parts.attach.own_cost import own_cost
from windtunnel.parts.attach.page import Page
from windtunnel.parts.attach.processes import Application, application_of
from windtunnel.parts.attach.thread_metrics import threads
from windtunnel.parts.attach.way_in import inject
from windtunnel.stats.mean import Estimate, jackknife

MOST_COST = {32: 0.005, 4: 0.01, 1: 0.02}
"""Packets of a burst -> share of testpmd's packets that the probe may cost."""
MOST_ERROR = 2.0
"""Percent."""
PREFIX = "windtunnel-bench-attach"
PORTS = 2
START_S = 30.0


def measure(session: Session) -> Iterator[Result]:
    if session.memory != "no-huge":
        return
    for burst, most in MOST_COST.items():
        windows, tsc_hz = _observe(session, burst)
        used, name = counted(windows), f"bursts of {burst}"
        states = f"{len(used)} of {len(windows)} windows"
        cost = _spread(own_cost(windows), len(used), 100)
        yield _result(session, f"cost of the probe, {name}", cost, "%", states, Goal(100 * most, "at most"))
        error = _error(_spread(jackknife(used, partial(_ratio, tsc_hz=tsc_hz)), len(used), 1))
        yield _result(session, f"ns per packet off by, {name}", error, "%", states, Goal(MOST_ERROR, "at most"))


def _error(ratio: Spread) -> Spread:
    """How far a ratio is from 1, in percent, whichever way."""
    ends = sorted(100 * abs(end - 1) for end in (ratio.low, ratio.high))
    least = 0.0 if ratio.low <= 1 <= ratio.high else ends[0]
    return Spread(100 * abs(ratio.median - 1), least, ends[1], ratio.samples, ratio.kind)


def _result(session: Session, name: str, spread: Spread, unit: str, states: str, goal: Goal) -> Result:
    session.log(f"{name}: {spread.median:.2f}{unit}")
    return Result(name, session.memory, spread, unit, states=states, goal=goal, verdict=judge(spread, goal))


def _spread(estimate: Estimate | None, windows: int, scale: float) -> Spread:
    if estimate is None or estimate.low is None or estimate.high is None:
        raise UserError("too few windows were left by the host", remedy="measure alone on the machine")
    return Spread(scale * estimate.mean, scale * estimate.low, scale * estimate.high, windows, "95%")


def _ratio(windows: list[WindowLine], tsc_hz: float) -> float:
    return _ns(windows, tsc_hz) / _reference_ns(windows, tsc_hz)


def _ns(windows: list[WindowLine], tsc_hz: float) -> float:
    [thread] = threads(windows, tsc_hz)
    return thread.cost.all.mean


def _reference_ns(windows: list[WindowLine], tsc_hz: float) -> float:
    """By testpmd's own counters over all of the windows, the time in which it was on its CPU alone."""
    on_cpu = sum(t.on_cpu_ns or 0 for w in windows for t in w.threads) / sum(w.end_ns - w.start_ns for w in windows)
    seconds = sum(max(port.ticks for port in window.ports) for window in windows) / tsc_hz
    return seconds * on_cpu * 1e9 / sum(port.ipackets for window in windows for port in window.ports)


def _observe(session: Session, burst: int) -> tuple[list[WindowLine], float]:
    with _testpmd(session, burst) as application:
        inject(application)
        with opened(application.pid) as page, leased(page, Presence()):
            _wait_until_forwarding(page)
            observer = Observer(page, application.pid)
            observer.bound_turns(0.2)
            windows = [_window(observer, session.seconds) for _ in range(session.options.pairs)]
            return windows, observer.tsc_hz


def _wait_until_forwarding(page: Page) -> None:
    deadline = time.monotonic() + START_S
    while sum(port.ipackets > 0 for port in page.ports().values()) < PORTS:
        if time.monotonic() > deadline:
            raise UserError(f"{NAME} does not forward after {START_S:.0f} s")
        time.sleep(0.05)


def _window(observer: Observer, seconds: float) -> WindowLine:
    time.sleep(seconds)
    return observer.window()


@contextmanager
def _testpmd(session: Session, burst: int) -> Iterator[Application]:
    """A testpmd that forwards, or is about to."""
    ports = [f"--vdev=net_null{number}" for number in range(PORTS)]
    eal = ["-l", f"{session.other_cpu},{session.cpu}", "--no-huge", "-m", "1024", "--no-pci", "--file-prefix", PREFIX]
    options = ["--interactive", "--auto-start", "--forward-mode=macswap", "--nb-cores=1", "--total-num-mbufs=20000"]
    process = subprocess.Popen(
        [NAME, *eal, *ports, "--", *options, f"--burst={burst}"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        yield _with_control_threads(process)
    finally:
        process.kill()
        process.wait()


def _with_control_threads(process: subprocess.Popen) -> Application:
    while process.poll() is None:
        application = application_of(process.pid)
        if application and application.prefix and not application.obstacle:
            return application
        time.sleep(0.05)
    raise UserError(f"{NAME} ended with {process.returncode} before it had ports")


if __name__ == "__main__":
    main(__doc__, measure)
