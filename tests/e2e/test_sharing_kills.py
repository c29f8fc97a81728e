"""kill -9 of everything that shares, at moments that nobody chose: `share restore` finds every tenant, and leaves nothing.

WINDTUNNEL_KILL_ROUNDS says how often (3); a failure shows its seed, which WINDTUNNEL_KILL_SEED takes.
"""

import contextlib
import os
import random
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from daemon_tools import CPUS, tenant_toml
from hostile_run import COMMAND, run
from sharing_tools import POLL, SLEEP, needs_rights, tenant, until
from tenant_tools import needs_native

from windtunnel.errors import UserError
from windtunnel.sharing import sched, threads
from windtunnel.sharing.daemon.client import Client
from windtunnel.sharing.pools import cgroups
from windtunnel.sharing.pools.shield import PREFIX
from windtunnel.sharing.slicers import SLICERS
from windtunnel.sharing.softirqs import softirq_threads

ROUNDS = int(os.environ.get("WINDTUNNEL_KILL_ROUNDS", "3"))
SEED = int(os.environ.get("WINDTUNNEL_KILL_SEED", time.time_ns()))
LATEST_S, EARLY = 1.5, 0.2
"""The latest moment after the daemon has tenants; the part of the rounds in which it comes after the start of the daemon instead."""
PARTS = ("share serve", "sharing.guardian", "pools.remove_groups", "windtunnel-slicer")
SLICED_BY = ("kicker", "rotor", "kicker-far", "rotor-far")
STAYS = {"share/lock", "share/state.json"}
"""What also a daemon that ends by itself leaves."""
NEW_THREADS = """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()
    time.sleep(0.02)
"""
pytestmark = [
    pytest.mark.slow,
    needs_rights,
    pytest.mark.root,
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs"),
]


def of_environment(marker: str) -> list[int]:
    """Living processes that were started with this in their environment: the daemon, and all that it started."""
    found = []
    for pid in (int(path.name) for path in threads.PROC.iterdir() if path.name.isdecimal()):
        with contextlib.suppress(OSError):
            if marker.encode() in (threads.PROC / str(pid) / "environ").read_bytes():
                found.append(pid)
    return found


def kill_all(marker: str, draw: random.Random) -> set[str]:
    """In any order, until there is none; a guardian may just be restoring. Returns which parts were killed."""
    killed = set()
    while found := of_environment(marker):
        draw.shuffle(found)
        for pid in found:
            with contextlib.suppress(OSError):
                words = (threads.PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                os.kill(pid, signal.SIGKILL)
                killed |= {part for part in PARTS if part in words}
    return killed


def share_until(moment: float, socket: Path, draw: random.Random) -> None:
    """Weights that are always others."""
    while time.monotonic() < moment:
        with contextlib.suppress(UserError, OSError), Client(socket) as client:
            while time.monotonic() < moment:
                client.ask("PATCH", f"/v1/tenants/{draw.choice('abc')}", {"weight": draw.randint(1, 60)})
        time.sleep(0.01)


def responds(socket: Path) -> bool:
    with contextlib.suppress(UserError, OSError), Client(socket) as client:
        return bool(client.get("/v1/tenants"))
    return False


def as_they_were(before: dict[int, threads.Fields]) -> None:
    """The tenants, and every thread that they have begun since."""
    for pid, then in before.items():
        assert threads.read(pid) == then
        for tid in threads.threads_of(pid):
            with contextlib.suppress(ProcessLookupError):
                assert threads.read(tid) == then, f"thread {tid} of {pid}"


@contextlib.contextmanager
def tenants():
    """One of each policy, with its own CPUs and nice value; one that always begins threads."""
    with tenant(POLL) as a, tenant(SLEEP) as b, tenant(NEW_THREADS) as c, tenant(POLL) as d:
        sched.put(a.pid, sched.Attributes(sched.OTHER, 0, 3, 400_000))
        sched.put(b.pid, sched.Attributes(sched.IDLE, 0, 0, 0))
        sched.put(c.pid, sched.Attributes(sched.BATCH, 0, -2, 0))
        os.sched_setaffinity(a.pid, CPUS[:1])
        os.sched_setaffinity(d.pid, CPUS[-1:])
        for tid in threads.threads_of(c.pid):  # some began before
            with contextlib.suppress(ProcessLookupError):
                sched.put(tid, sched.get(c.pid))
        yield a, b, c, d


def test_everything_killed_is_restored_by_hand(tmp_path):
    needs_native("slicer")
    draw = random.Random(SEED)
    hierarchy = cgroups.find()
    softirqs = {tid: threads.read(tid) for tid in softirq_threads(CPUS)}
    for number in range(ROUNDS):
        where = f"seed {SEED}, round {number}"
        slicer = SLICED_BY[number % len(SLICED_BY)]
        if slicer not in SLICERS:
            continue
        runtime = tmp_path / str(number)
        marker = f"WINDTUNNEL_TEST={uuid.uuid4().hex}"
        environment = os.environ | {"RUNTIME_DIRECTORY": str(runtime)}
        with tenants() as processes:
            before = {process.pid: threads.read(process.pid) for process in processes}
            toml = "".join(
                tenant_toml(name, process.pid, weight=30) for name, process in zip("abc", processes, strict=False)
            )
            file = tmp_path / "share.toml"
            head = f'cpus = {CPUS}\nbe_cpus = 1\nslicer = "{slicer}"\ncheck = "20ms"\n'
            file.write_text(f"{head}{toml}{tenant_toml('d', processes[3].pid, pool='be')}")
            socket = runtime / "windtunnel/share/share.sock"
            with subprocess.Popen(
                [*COMMAND, "share", "serve", file],
                stdout=subprocess.DEVNULL,
                env=environment | dict([marker.split("=")]),
            ) as daemon:
                if draw.random() >= EARLY:
                    until(lambda socket=socket: responds(socket))
                share_until(time.monotonic() + draw.uniform(0, LATEST_S), socket, draw)
                killed = kill_all(marker, draw)
            left = list((runtime / "windtunnel").rglob("*.journal"))
            code, said = run(["share", "restore"], env=environment)
            print(f"{where}: {slicer}, killed {sorted(killed)}, {len(left)} journal left\n{said}")
            assert code == 0, f"{where}: {said}"
            as_they_were(before)
            assert {tid: threads.read(tid) for tid in softirqs} == softirqs, where
            if isinstance(hierarchy, cgroups.Hierarchy):
                assert not list(hierarchy.mount.glob(f"{PREFIX}{daemon.pid}-*")), where
            found = {str(path.relative_to(runtime / "windtunnel")) for path in runtime.rglob("*") if not path.is_dir()}
            assert found <= STAYS, where
