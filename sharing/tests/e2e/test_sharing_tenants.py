"""The figures' real servers, batch job and client, from their start to their certain end."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pvcc.batch import Batch
from pvcc.client import Client, ClientPlan, Phase, Target
from pvcc.kept_process import ROOM, Kept
from pvcc.servers import ADDRESS, CLOSED, POLL_SHIM, PROFILES, Content, Server, find_server, value_of
from sharing_tools import PATIENCE_S, until
from tenant_tools import load, needs_native, needs_server, plan_for

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.native import find_native

CPU = min(os.sched_getaffinity(0))
KINDS = tuple(PROFILES)
STUDIES = Path(__file__).resolve().parents[2] / "studies"


def ended(pid: int) -> bool:
    return threads.started(pid) is None


class TestKept:
    @pytest.fixture(autouse=True)
    def built(self):
        needs_native("keeper")

    def test_runs_where_it_should_and_ends_with_its_context(self, tmp_path):
        with Kept(["sleep", "100"], log=tmp_path / "log", cpu=CPU) as kept:
            assert os.sched_getaffinity(kept.pid) == {CPU}
            assert kept.running
        assert ended(kept.pid) and not kept.running

    def test_tells_how_it_ended(self, tmp_path):
        assert Kept(["sh", "-c", "echo so; exit 7"], log=tmp_path / "log").wait(PATIENCE_S) == (7, b"so\n")
        assert Kept(["sh", "-c", "kill -9 $$"], log=tmp_path / "log").wait(PATIENCE_S) == (128 + 9, b"")

    def test_what_does_not_hear_is_killed_with_its_children(self, tmp_path):
        words = "trap '' TERM; (trap '' TERM; setsid sleep 100) & echo $!; wait; sleep 100"
        with Kept(["sh", "-c", words], log=tmp_path / "log") as kept:
            child = int(kept.out.readline())
        assert ended(kept.pid)
        until(lambda: ended(child))

    def test_a_program_that_is_not_there(self, tmp_path):
        code, _ = Kept(["/nonexistent/program"], log=tmp_path / "log").wait(PATIENCE_S)
        assert code == 125 and "No such file" in (tmp_path / "log").read_text()

    @pytest.mark.parametrize("victim", ["parent", "keeper"])
    def test_kill_9_leaves_nothing(self, tmp_path, victim):
        words = (
            f"import sys, time\nfrom pathlib import Path\nsys.path.append({str(STUDIES)!r})\nfrom pvcc.kept_process import Kept\n"
            f"kept = Kept(['sleep', '100'], log=Path({str(tmp_path / 'log')!r}))\n"
            "print(kept.pid, kept._process.pid, flush=True)\ntime.sleep(100)\n"
        )
        with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True) as parent:
            pid, keeper = map(int, parent.stdout.readline().split())
            os.kill(parent.pid if victim == "parent" else keeper, signal.SIGKILL)
            until(lambda: ended(pid))
            parent.kill()
        until(lambda: ended(keeper))


WAITS = """
import select, socket, sys
near, far = socket.socketpair()
epoll = select.epoll()
epoll.register(near, select.EPOLLIN)
poll = select.poll()
poll.register(near, select.POLLIN)
def switches():
    return int(open("/proc/thread-self/status").read().split("voluntary_ctxt_switches:")[1].split()[0])
def waits(ms):
    return [bool(epoll.poll(ms / 1000)), bool(poll.poll(ms)), bool(select.select([near], [], [], ms / 1000)[0])]
before = switches()
quiet = [waits(2) for _ in range(10)]
slept = switches() - before
far.send(b"x")
print(slept, quiet == [[False] * 3] * 10, waits(1000), waits(0))
"""


def waited(**env: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", WAITS], env=os.environ | env, capture_output=True, text=True, check=True
    )
    return done.stdout.split(maxsplit=1)


class TestPollShim:
    """Thirty waits in vain: who sleeps leaves the CPU thirty times of its own will."""

    def shim(self) -> str:
        try:
            return str(find_native(POLL_SHIM, ROOM))
        except UserError as error:
            pytest.skip(f"{error.message} ({error.remedy})")

    def test_nobody_sleeps_and_everybody_sees_what_there_is(self):
        slept, seen = waited(LD_PRELOAD=self.shim())
        plainly, plain = waited()
        assert seen == plain and "True" in seen
        assert int(slept) < 10 and int(plainly) >= 30

    def test_threads_by_name(self):
        slept, _ = waited(LD_PRELOAD=self.shim(), WINDTUNNEL_POLL_THREADS="mc-worker")
        assert int(slept) >= 30


@pytest.mark.parametrize("kind", KINDS)
class TestServers:
    @pytest.fixture(autouse=True)
    def there(self, kind):
        needs_native("keeper", "client")
        needs_server(kind)

    @pytest.mark.parametrize("polling", [False, True])
    def test_responses_what_it_holds_and_goes(self, tmp_path, kind, polling):
        with Server(kind, tmp_path / "s", cpu=CPU, polling=polling, content=Content(keys=50, value=45)) as server:
            assert os.sched_getaffinity(server.worker) == {CPU}
            assert ("shim" in server.mode) == polling
            assert (os.stat(f"/proc/{server.pid}").st_uid == 0) == (os.geteuid() == 0 and kind == "nginx")
            loaded = "libwindtunnel-poll" in Path(f"/proc/{server.pid}/maps").read_text()
            assert loaded == polling
            result = load(server, tmp_path, per_s=2000)
        [target] = result.targets
        [phase] = target.phases
        assert phase.offered > 0 and phase.right == phase.offered == phase.latency.total
        assert sum(window.right for window in target.windows) == phase.right
        assert (target.resets, target.malformed) == (0, 0)
        assert ended(server.pid) and not server.directory.exists()

    def test_what_it_does_not_hold_is_missing(self, tmp_path, kind):
        with Server(kind, tmp_path / "s", cpu=CPU, polling=False, content=Content(keys=1)) as server:
            [phase] = load(server, tmp_path, keys=100_000, load_keys=False).targets[0].phases
        assert phase.missing > 0 and phase.missing + phase.right == phase.offered and phase.wrong == 0

    def test_a_server_that_dies_is_lost_not_waited_for(self, tmp_path, kind):
        with (
            Server(kind, tmp_path / "s", cpu=CPU, polling=False) as server,
            Client(plan_for(server, seconds=1, patience_s=0), tmp_path) as client,
        ):
            os.kill(server.pid, signal.SIGKILL)
            target = client.result().targets[0]
        [phase] = target.phases
        assert target.resets == 8
        assert phase.unsent > 0 and phase.offered == phase.unsent + phase.sent
        assert phase.sent == phase.right + phase.lost


def test_nobody_who_reaches_redis_changes_its_files_or_its_code(tmp_path):
    needs_native("keeper")
    needs_server("redis")
    with (
        Server("redis", tmp_path / "s", cpu=CPU, polling=False) as server,
        socket.create_connection((ADDRESS, server.port)) as connection,
        connection.makefile("rb") as responses,
    ):
        for command in CLOSED:
            connection.sendall(f"{command} x\r\n".encode())
            assert responses.readline().startswith(b"-ERR unknown command"), command
        connection.sendall(b"COMMAND LIST FILTERBY ACLCAT scripting\r\n")
        assert responses.readline() == b"*0\r\n"


class TestContent:
    def test_values_are_those_of_the_client(self):
        # splitmix64's first output for seed 0 is mix64(0x9e3779b97f4a7c15): e220a8397b1dcdaf
        assert value_of(0x9E3779B97F4A7C15, 20) == b"e220a8397b1dcdaf"[::-1] + b"fadc"

    def test_a_server_that_is_not_installed(self, monkeypatch):
        monkeypatch.setattr("shutil.which", lambda *_, **__: None)
        with pytest.raises(UserError, match="no nginx on this system") as caught:
            find_server("nginx")
        assert "nginx-light" in caught.value.remedy


class TestClient:
    def plan(self, **keys) -> ClientPlan:
        target = Target(name="a", protocol="redis", port=1, phases=[Phase(name="x", duration_ns=1_000_000, per_s=1)])
        return ClientPlan(**({"cpu": CPU, "tenant_cpus": [], "targets": [target]} | keys))

    def test_is_never_on_the_tenants_core(self, tmp_path):
        with pytest.raises(UserError, match="which its tenants use") as caught:
            Client(self.plan(tenant_cpus=[CPU]), tmp_path)
        assert "windtunnel-tenant" in caught.value.remedy

    def test_nobody_listens(self, tmp_path):
        needs_native("keeper", "client")
        with pytest.raises(UserError, match="127.0.0.1:1: cannot connect: Connection refused"):
            Client(self.plan(), tmp_path)

    def test_the_program_refuses_too(self, tmp_path):
        needs_native("client")
        file = tmp_path / "plan.json"
        file.write_text(self.plan(tenant_cpus=[CPU]).model_dump_json())
        done = subprocess.run(
            [find_native("windtunnel-client", ROOM), file], check=False, capture_output=True, text=True
        )
        assert done.returncode == 2 and "which its tenants use" in done.stdout


class TestBatch:
    def test_its_work_is_counted(self, tmp_path):
        needs_native("keeper", "batch")
        with Batch(tmp_path / "log", cpu=CPU, limit=1000, window_ms=20) as batch:
            until(lambda: threads.cpu_ns(batch.tids[0]) > 100_000_000)
        first, last = batch.done[0], batch.done[-1]
        assert [d.events for d in batch.done] == sorted(d.events for d in batch.done)
        assert last.events > 0 and first.cpu_ns < last.cpu_ns <= last.at_ns - first.at_ns + last.cpu_ns
        events, cpu = batch.between(first.at_ns, last.at_ns)
        assert (events, cpu) == (last.events - first.events, last.cpu_ns - first.cpu_ns)
        with pytest.raises(ValueError, match="did not run"):
            batch.between(first.at_ns - 1, last.at_ns)

    def test_an_event_is_sysbenchs(self, tmp_path):
        needs_native("batch")
        with subprocess.Popen(
            [find_native("windtunnel-batch", ROOM), "1000"], stdout=subprocess.PIPE, text=True
        ) as job:
            lines = [job.stdout.readline() for _ in range(2)]
            job.terminate()
        assert '"primes": 167' in lines[1]  # of the 168 below 1000, all but 2: sysbench begins at 3
