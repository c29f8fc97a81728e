"""What do changes of weights cost, and how soon do they hold?

A daemon with the kicker, four tenants that always poll, and a client, all on this machine (two CPUs or more). CPU shares are the daemon's own user
and system time over the wall's; the slicers' are not in it. The text protocol and the batch carry 1,000 changes a second: by text in
bunches of ten, and by a client that waits for each OK, as PvCC's do; at rest nobody asks for anything. Single HTTP calls come one after
another, and their price is shown. A resize is `ls` from one CPU to two and back, with `be_cpus = 0`: moved is from the moment at which the
change was granted to the one at which every thread is on its CPU, carried to the one at which everything is done, nice values and cgroups
too, both as the daemon measures it. The tenants of the resizes have 5,000 requests a second each, made inside them: lost is what was not served. Memory: the resident set before and after a million changes through the text protocol.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.main import main
from harness.results import Result
from harness.serving import expect_ok, send, serving, set_weights
from harness.session import Session
from harness.statistics import Goal, extent, interval, judge

from windtunnel.errors import UserError
from windtunnel_sharing.daemon.client import Client
from windtunnel_sharing.tenant import Phase, Tenant, TenantPlan

TENANTS, CHANGES_A_SECOND, ROUNDS, ROUND_S = 4, 1000, 5, 3
MILLION, CALLS, RESIZES = 1_000_000, 300, 40
MANY = 20
"""Values from which a median has an interval that says something; fewer are shown with their range."""
TICK_S = 0.01
RATE, START_NS, SERVED_NS = 5000, 3_000_000_000, 15_000_000_000
"""Of the tenants that are resized: requests a second, and for how long from when on."""


def measure(session: Session) -> list[Result]:
    results = []
    with _daemon(session.directory / "shares", be_cpus=1) as (pid, text, client):
        shares = [_share(pid, lambda: time.sleep(ROUND_S)) for _ in range(ROUNDS)]
        results.append(_result(session, "at rest: CPU", shares, "%", None))
        shares = [_share(pid, lambda: _by_text(text)) for _ in range(ROUNDS)]
        results.append(_result(session, "1,000 a second by text: CPU", shares, "%", 5.0))
        waits: list[float] = []
        shares = [_share(pid, lambda: _by_text_one_by_one(text, waits)) for _ in range(ROUNDS)]
        results.append(_result(session, "1,000 a second by text, each OK waited for: CPU", shares, "%", 5.0))
        results.append(_result(session, "an OK is waited for", sorted(waits)[:: len(waits) // 200], "us", None))
        shares = [_share(pid, lambda: _by_batch(client)) for _ in range(ROUNDS)]
        results.append(_result(session, "1,000 a second by batch: CPU", shares, "%", 5.0))
        prices = [_price(pid, client) for _ in range(ROUNDS)]
        results.append(_result(session, "one HTTP call: CPU", prices, "us", None))
        before = _rss(pid)
        _flood(text, MILLION // 10)
        warm = _rss(pid)
        _flood(text, MILLION)
        note = f"{before >> 10} KiB at first, {warm >> 10} KiB after {MILLION // 10} changes"
        results.append(
            _result(session, "memory more after 10^6 changes", [(_rss(pid) - warm) / 1024], "KiB", 1024.0, note)
        )
    return results + _resizes(session)


def _resizes(session: Session) -> list[Result]:
    moved, carried = [], []
    with ExitStack() as stack:
        start = time.monotonic_ns() + START_NS
        tenants = [stack.enter_context(Tenant(_served(number, start))) for number in range(TENANTS)]
        where = session.directory / "resize"
        _, text, client = stack.enter_context(_sharing(where, [tenant.pid for tenant in tenants], be_cpus=0))
        time.sleep(max(0.0, (start - time.monotonic_ns()) / 1e9))
        for number in range(RESIZES):
            set_weights(text, [f"SET 1 {256 if number % 2 == 0 else 60}"])
            pools = client.get("/v1/pools")
            moved.append(pools["moved_ns"] / 1000)
            carried.append(pools["carried_ns"] / 1000)
            time.sleep(0.05)
        if time.monotonic_ns() > start + SERVED_NS:
            raise UserError(f"{RESIZES} resizes took longer than the tenants' {SERVED_NS / 1e9:g} s")
        sums = [tenant.result()[1] for tenant in tenants]
    lost, offered = sum(one.lost for one in sums), sum(one.offered for one in sums)
    return [
        _result(session, "resize moved after", moved, "us", 1000.0),
        _result(session, "resize carried after", carried, "us", 1000.0),
        _result(session, f"lost while resized, of {offered}", [lost], "requests", 0.0),
    ]


def _served(number: int, start_ns: int) -> TenantPlan:
    phases = [Phase(rate=RATE)]
    return TenantPlan(
        phases=phases, seed=number, service_ns=2500, start_ns=start_ns, duration_ns=SERVED_NS, window_ns=SERVED_NS
    )


def _result(session: Session, name: str, values: list[float], unit: str, limit: float | None, note: str = "") -> Result:
    spread = interval(values) if len(values) >= MANY else extent(values)
    goal = Goal(limit, "at most", least_samples=1) if limit is not None else None
    verdict = judge(spread, goal) if goal else None
    return Result(name, session.memory, spread, unit, note, goal=goal, verdict=verdict, details={"values": values})


@contextmanager
def _daemon(directory: Path, be_cpus: int) -> Iterator[tuple[int, socket.socket, Client]]:
    """A daemon with tenants that poll."""
    polling = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(TENANTS)]
    try:
        with _sharing(directory, [one.pid for one in polling], be_cpus) as running:
            yield running
    finally:
        for one in polling:
            one.kill()
            one.wait()


@contextmanager
def _sharing(directory: Path, pids: list[int], be_cpus: int) -> Iterator[tuple[int, socket.socket, Client]]:
    """As `serving`, with these processes for tenants."""
    directory.mkdir(parents=True)
    tables = "".join(f'[[tenant]]\nname = "t{n}"\npid = {pid}\nweight = 60\n' for n, pid in enumerate(pids))
    with serving(directory, tables, be_cpus) as running:
        yield running


def _lines(start: int, count: int) -> list[str]:
    return [f"SET {1 + n % TENANTS} {30 + n * 7 % 30}" for n in range(start, start + count)]


def _by_text(text: socket.socket) -> None:
    begin, bunch, ticks = time.monotonic(), round(CHANGES_A_SECOND * TICK_S), round(ROUND_S / TICK_S)
    for number in range(ticks):
        send(text, _lines(number * bunch, bunch))
        time.sleep(max(0.0, begin + (number + 1) * TICK_S - time.monotonic()))
    expect_ok(text, ticks * bunch)
    _held(begin)


def _held(begin: float) -> None:
    """Raises UserError where the changes of a round took longer than it."""
    if (took := time.monotonic() - begin) > ROUND_S * 1.1:
        raise UserError(
            f"{ROUND_S * CHANGES_A_SECOND} changes took {took:.1f} s: {CHANGES_A_SECOND} a second are not held"
        )


def _by_text_one_by_one(text: socket.socket, waits: list[float]) -> None:
    """`waits` grows by the time of each response, us."""
    begin, count = time.monotonic(), ROUND_S * CHANGES_A_SECOND
    for number, line in enumerate(_lines(0, count)):
        asked = time.perf_counter()
        set_weights(text, [line])
        waits.append(1e6 * (time.perf_counter() - asked))
        time.sleep(max(0.0, begin + (number + 1) / CHANGES_A_SECOND - time.monotonic()))
    _held(begin)


def _by_batch(client: Client) -> None:
    begin = time.monotonic()
    for number in range(ROUND_S):
        changes = [{"tenant": f"t{n % TENANTS}", "weight": 30 + (n + number) % 30} for n in range(CHANGES_A_SECOND)]
        client.ask("POST", "/v1/batch", {"changes": changes})
        time.sleep(max(0.0, begin + number + 1 - time.monotonic()))


def _flood(text: socket.socket, count: int) -> None:
    for start in range(0, count, 1000):
        set_weights(text, _lines(start, 1000))


def _share(pid: int, work) -> float:
    """CPU time of the daemon in percent of the time that `work` took."""
    before, begin = _cpu_s(pid), time.monotonic()
    work()
    return 100 * (_cpu_s(pid) - before) / (time.monotonic() - begin)


def _price(pid: int, client: Client) -> float:
    """CPU time of the daemon for one call, us."""
    before = _cpu_s(pid)
    for number in range(CALLS):
        client.ask("PATCH", "/v1/tenants/t0", {"weight": 30 + number % 30})
    return 1e6 * (_cpu_s(pid) - before) / CALLS


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main(__doc__, measure)
