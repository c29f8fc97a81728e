"""kill -9 of everything that shares, at moments that nobody chose: `share restore` finds every tenant, and leaves nothing.

A failure shows its seed, which WINDTUNNEL_KILL_SEED takes.
"""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest
from daemon_tools import Running, daemons_and_theirs, tenant_toml
from sharing_tools import (
    CPUS,
    POLL,
    alone_on_this_machine,
    needs_rights,
    needs_two_cpus,
    python_tenant,
    share_restore,
    tenant,
    until,
)
from tenant_tools import needs_native

from windtunnel.errors import UserError
from windtunnel_sharing import sched, threads
from windtunnel_sharing.daemon.client import Client
from windtunnel_sharing.families import granted
from windtunnel_sharing.left_behind import LOCK
from windtunnel_sharing.pools.shield import PREFIX
from windtunnel_sharing.slicers import SLICERS
from windtunnel_sharing.softirqs import softirq_threads

SEED = int(os.environ.get("WINDTUNNEL_KILL_SEED", time.time_ns()))
LATEST_S, EARLY = 0.5, 0.2
"""The latest moment after the daemon has tenants; the part of the rounds in which it comes after the start of the daemon instead."""
SLICED_BY = [name for name in ("kicker", "rotor", "kicker-far", "rotor-far") if name in SLICERS]
STAYS = {
    "share/lock",
    LOCK,
    f"share/{LOCK}",
    "share/state.json",
    *(f"cpu{cpu}.lock" for cpu in range(os.cpu_count() or 1)),
}
"""What also a daemon that ends by itself leaves."""
NEW_THREADS = """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()
    time.sleep(0.02)
"""
pytestmark = [pytest.mark.alone, pytest.mark.slow, needs_rights, pytest.mark.root, needs_two_cpus]
alone = pytest.fixture(alone_on_this_machine, scope="module", autouse=True)


def kill_all(draw: random.Random) -> None:
    """In any order, until there is none; a guardian may just be restoring."""
    while found := daemons_and_theirs():
        draw.shuffle(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def share_until(moment: float, socket: Path, draw: random.Random) -> None:
    """Weights that are always others."""
    while time.monotonic() < moment:
        with contextlib.suppress(UserError, OSError), Client(socket) as client:
            while time.monotonic() < moment:
                client.ask("PATCH", f"/v1/tenants/{draw.choice('abc')}", {"weight": draw.randint(1, 60)})
        time.sleep(0.01)


def next_start(runtime: Path, socket: Path) -> tuple[int, str]:
    """Of a daemon without tenants, which then ends."""
    file = runtime / "next.toml"
    file.write_text(f'cpus = {CPUS}\nbe_cpus = 1\nslicer = "{SLICED_BY[0]}"\nslice = "150us"\n')
    daemon = Running(file, "real", socket, RUNTIME_DIRECTORY=str(runtime))
    try:
        until(daemon.responds, daemon.said)
        return daemon.end(), daemon.said()
    finally:
        daemon.close()


def is_exiting(tid: int) -> bool:
    """Raises ProcessLookupError once it has ended."""
    try:
        fields = Path(f"/proc/{tid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        raise ProcessLookupError from None
    return bool(int(fields[6]) & threads.EXITING)


def as_they_were(before: dict[int, threads.Fields]) -> None:
    """The tenants, and every thread that they have begun since: of these, one that inherited a change of ours has no right any more."""
    for pid, then in before.items():
        assert threads.read(pid) == then
        for tid in threads.threads_of(pid):
            with contextlib.suppress(ProcessLookupError):
                now = threads.read(tid)
                if now not in (then, granted(then)) and not is_exiting(tid):  # one that exits has left its cgroup
                    raise AssertionError(f"thread {tid} of {pid}: {now} and not {then}")


@contextlib.contextmanager
def tenants():
    """One of each policy, with its own CPUs and nice value; one that always begins threads."""
    with tenant(POLL) as a, tenant() as b, python_tenant(NEW_THREADS) as c, tenant(POLL) as d:
        sched.put(a.pid, sched.Attributes(sched.OTHER, 0, 3, 400_000))
        sched.put(b.pid, sched.Attributes(sched.IDLE, 0, 0, 0))
        sched.put(c.pid, sched.Attributes(sched.BATCH, 0, -2, 0))
        os.sched_setaffinity(a.pid, CPUS[:1])
        os.sched_setaffinity(d.pid, CPUS[-1:])
        for tid in threads.threads_of(c.pid):  # some began before
            with contextlib.suppress(ProcessLookupError):
                sched.put(tid, sched.get(c.pid))
        yield a, b, c, d


@pytest.mark.parametrize(
    "rounds",
    [
        len(SLICED_BY),
        pytest.param(40, marks=pytest.mark.long("kills")),
        pytest.param(200, marks=pytest.mark.long("many-kills")),
    ],
)
def test_everything_killed_is_restored_by_hand_or_by_the_next_start(tmp_path, monkeypatch, rounds):
    needs_native("slicer")
    draw = random.Random(SEED)
    softirqs = {tid: threads.read(tid) for tid in softirq_threads(CPUS)}
    for number in range(rounds):
        where = f"seed {SEED}, round {number}"
        runtime = tmp_path / str(number)
        runtime.mkdir()
        monkeypatch.setenv("RUNTIME_DIRECTORY", str(runtime))
        with tenants() as processes:
            before = {process.pid: threads.read(process.pid) for process in processes}
            *polling, batch = processes
            toml = "".join(tenant_toml(name, one.pid, weight=30) for name, one in zip("abc", polling, strict=True))
            slicer = SLICED_BY[number % len(SLICED_BY)]
            head = f'cpus = {CPUS}\nbe_cpus = 1\nslicer = "{slicer}"\nslice = "150us"\ncheck = "20ms"\n'
            file = runtime / "share.toml"
            file.write_text(f"{head}{toml}{tenant_toml('d', batch.pid, pool='be')}")
            socket = runtime / "windtunnel/share/share.sock"
            daemon = Running(file, "real", socket, RUNTIME_DIRECTORY=str(runtime))
            try:
                if draw.random() >= EARLY:
                    until(daemon.responds, daemon.said)
                share_until(time.monotonic() + draw.uniform(0, LATEST_S), socket, draw)
            finally:
                kill_all(draw)
                daemon.close()
            by_hand = (number + number // len(SLICED_BY)) % 2 == 0
            code, said = share_restore() if by_hand else next_start(runtime, socket)
            print(f"{where}: {slicer}\n{said}")
            assert code == 0, f"{where}: {said}"
            as_they_were(before)
            assert {tid: threads.read(tid) for tid in softirqs} == softirqs, where
            for mount in threads.mounts().values():
                assert not list(mount.glob(f"{PREFIX}{daemon.pid}-*")), where
            left = [path for path in (runtime / "windtunnel").rglob("*") if not path.is_dir()]
            assert {str(path.relative_to(runtime / "windtunnel")) for path in left} <= STAYS, where
