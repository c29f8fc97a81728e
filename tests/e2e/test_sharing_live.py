"""`windtunnel share serve` with its real slicer and real servers: what a client asks for is what they get."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest
from daemon_tools import tenant_toml
from sharing.client import Client as LoadClient
from sharing.servers import Server
from sharing_tools import POLL, needs_rights, tenant, until
from tenant_tools import needs_native, needs_server, plan_for

from windtunnel.errors import UserError
from windtunnel.sharing import threads
from windtunnel.sharing.daemon.client import Client

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = [needs_rights, pytest.mark.root, pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")]


@contextmanager
def serve(directory, tenants, be_cpus=1):
    """A client of the API, and what says a line of PvCC's protocol and returns the answer."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    head = f'state = "state"\ncpus = {[CPUS[0], CPUS[-1]]}\nbe_cpus = {be_cpus}\nslicer = "kicker"\n'
    file = directory / "share.toml"
    file.write_text(f'{head}[pvcc]\nlisten = "127.0.0.1:{port}"\n{tenants}')
    command = [sys.executable, "-c", "from windtunnel.cli import main; main()", "share", "serve", file]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    path = directory / "state" / "share.sock"

    def responses():
        assert process.poll() is None, process.stdout.read()
        try:
            with Client(path) as client:
                return client.get("/v1/pools")
        except UserError:
            return None

    def say(line):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(f"{line}\n".encode())
            return connection.recv(1024).decode()

    try:
        until(responses)
        with Client(path) as client:
            yield client, say
        process.terminate()
        assert process.wait(60) == 0, process.stdout.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def metric(client, name, tenant):
    """Of the metrics' text; None where it is not there yet."""
    for line in client.text("/metrics").splitlines():
        if line.startswith(f"windtunnel_share_{name}{{") and f'tenant="{tenant}"' in line:
            return float(line.rpartition(" ")[2])
    return None


def test_the_kicker_shares_by_weight_moves_and_puts_back(tmp_path):
    needs_native("slicer")
    with tenant(POLL) as one, tenant(POLL) as two:
        before = [threads.read(process.pid) for process in (one, two)]
        toml = tenant_toml("a", one.pid, weight=30) + tenant_toml("b", two.pid, weight=30)
        with serve(tmp_path, toml, be_cpus=0) as (client, say):
            assert [os.sched_getaffinity(process.pid) for process in (one, two)] == [{CPUS[-1]}] * 2
            assert [say(f"SET 1 {weight}") for weight in (60, 120, 200)] == ["OK\n"] * 3
            until(lambda: (metric(client, "had_cpus", "a") or 0) > 2 * (metric(client, "had_cpus", "b") or 1))
            assert say("SET 2 100") == "OK\n"
            assert {*os.sched_getaffinity(one.pid), *os.sched_getaffinity(two.pid)} == {CPUS[0], CPUS[-1]}
            assert client.get("/v1/pools")["moved_ns"] <= client.get("/v1/pools")["carried_ns"]
        assert [threads.read(process.pid) for process in (one, two)] == before


def test_a_memcached_is_raised_by_text_and_by_http_and_loses_nothing(tmp_path):
    needs_native("slicer", "keeper", "client")
    needs_server("memcached")
    with ExitStack() as stack:
        servers = [
            stack.enter_context(Server("memcached", tmp_path / name, cpu=CPUS[-1], polling=True, name=name))
            for name in ("m1", "m2")
        ]
        toml = "".join(tenant_toml(one.name, one.pid, threads="mc-worker*", weight=40) for one in servers)
        client, say = stack.enter_context(serve(tmp_path, toml))
        assert metric(client, "weight", "m1") == 40
        assert say("SET 1 160") == "OK\n"
        assert metric(client, "weight", "m1") == 160
        until(lambda: (metric(client, "had_cpus", "m1") or 0) > 2 * (metric(client, "had_cpus", "m2") or 1))
        client.ask("PATCH", "/v1/tenants/m2", {"weight": 80})
        client.ask("PATCH", "/v1/tenants/m1", {"weight": 10})
        assert (metric(client, "weight", "m1"), metric(client, "weight", "m2")) == (10, 80)
        until(lambda: (metric(client, "had_cpus", "m2") or 0) > 2 * (metric(client, "had_cpus", "m1") or 1))
        plan = plan_for(servers[0], per_s=500, seconds=0.5).model_copy(update={"cpu": CPUS[0]})
        with LoadClient(plan, tmp_path) as loads:
            [phase] = loads.result().targets[0].phases
        assert phase.right == phase.offered > 0
