"""The daemon with its real slicer and real servers: what a client asks for is what they get."""

import os
import signal
import socket
from contextlib import ExitStack, contextmanager

import pytest
from daemon_tools import daemon, tenant_toml, write
from pvcc.client import Client as LoadClient
from pvcc.servers import Server
from sharing_tools import CPUS, POLL, alone_on_this_machine, as_before, needs_rights, needs_two_cpus, tenant, until
from tenant_tools import needs_native, needs_server, plan_for

from windtunnel_sharing import threads

pytestmark = [pytest.mark.alone, needs_rights, pytest.mark.root, needs_two_cpus]
alone = pytest.fixture(alone_on_this_machine, scope="module", autouse=True)


@contextmanager
def serve(directory, tenants, be_cpus=1):
    """A daemon, its client, and what says a line of PvCC's protocol and returns the answer."""
    head = f'cpus = {[CPUS[0], CPUS[-1]]}\nbe_cpus = {be_cpus}\nslicer = "kicker"\nslice = "150us"\n[pvcc]'

    def say(line):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(directory / "state" / "pvcc.sock"))
            connection.sendall(f"{line}\n".encode())
            return connection.recv(1024).decode()

    with daemon(write(directory, tenants, head), "real") as running, running.client() as client:
        yield running, client, say


def metric(client, name, tenant):
    """Of the metrics' text; None where it is not there yet."""
    for line in client.text("/metrics").splitlines():
        if line.startswith(f"windtunnel_share_{name}{{") and f'tenant="{tenant}"' in line:
            return float(line.rpartition(" ")[2])
    return None


def has_more(client, tenant, than, times=2):
    """Whether a tenant had more CPU time in the last interval."""
    return lambda: (metric(client, "had_cpus", tenant) or 0) > times * (metric(client, "had_cpus", than) or 1)


def places(*processes):
    return [os.sched_getaffinity(process.pid) for process in processes]


def test_the_kicker_shares_by_weight_moves_and_puts_back(tmp_path):
    needs_native("slicer")
    with tenant(POLL) as one, tenant(POLL) as two:
        before = {process.pid: threads.read(process.pid) for process in (one, two)}
        toml = tenant_toml("a", one.pid, weight=30) + tenant_toml("b", two.pid, weight=30)
        with serve(tmp_path, toml, be_cpus=0) as (running, client, say):
            assert places(one, two) == [{CPUS[-1]}] * 2
            assert [say(f"SET 1 {weight}") for weight in (60, 120, 200)] == ["OK\n"] * 3
            until(has_more(client, "a", "b"), running.said)
            assert say("SET 2 100") == "OK\n"
            assert set().union(*places(one, two)) == {CPUS[0], CPUS[-1]}
            assert client.get("/v1/pools")["moved_ns"] <= client.get("/v1/pools")["carried_ns"]
        assert as_before(before)()


def test_a_stopped_slicer_is_replaced_by_the_request_that_finds_it(tmp_path):
    needs_native("slicer")
    with tenant(POLL) as one, tenant(POLL) as two:
        toml = tenant_toml("a", one.pid, weight=30) + tenant_toml("b", two.pid, weight=30)
        with serve(tmp_path, toml, be_cpus=0) as (running, client, _):
            stopped = [pid for pid in threads.children()(running.pid) if threads.name(pid) == "windtunnel-slic"]
            assert stopped
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            client.ask("PATCH", "/v1/tenants/a", {"weight": 90})
            told = [event for event in client.get("/v1/events") if event["event"] == "slicer replaced"]
            assert told and all("sent no line for 1 s" in event["why"] for event in told)
            assert places(one, two) == [{CPUS[-1]}] * 2
            until(has_more(client, "a", "b", times=1.5), running.said)
            assert any(threads.stat(pid) is None for pid in stopped)


def test_a_memcached_is_raised_by_text_and_by_http_and_loses_nothing(tmp_path):
    needs_native("slicer", "keeper", "client")
    needs_server("memcached")
    with ExitStack() as stack:
        servers = [
            stack.enter_context(Server("memcached", tmp_path / name, cpu=CPUS[-1], polling=True, name=name))
            for name in ("m1", "m2")
        ]
        toml = "".join(tenant_toml(one.name, one.pid, threads="mc-worker*", weight=40) for one in servers)
        running, client, say = stack.enter_context(serve(tmp_path, toml))
        assert metric(client, "weight", "m1") == 40
        assert say("SET 1 160") == "OK\n"
        assert metric(client, "weight", "m1") == 160
        until(has_more(client, "m1", "m2"), running.said)
        client.ask("PATCH", "/v1/tenants/m2", {"weight": 80})
        client.ask("PATCH", "/v1/tenants/m1", {"weight": 10})
        assert (metric(client, "weight", "m1"), metric(client, "weight", "m2")) == (10, 80)
        until(has_more(client, "m2", "m1"), running.said)
        plan = plan_for(servers[0], per_s=500, seconds=0.5).model_copy(update={"cpu": CPUS[0]})
        with LoadClient(plan, tmp_path) as loads:
            [phase] = loads.result().targets[0].phases
        assert phase.right == phase.offered > 0
