"""TCP streams in the real engine: every byte arrives once and right, between two ends of ours and at a socket of the kernel, over
wires that lose; and what ends a connection has a name."""

import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from copier_names import MOVING
from namespace import ENGINE_IP, KERNEL_IP, Namespace, namespace, two_hosts
from real_runs import after, assert_sound, messages, scenario
from real_runs import execute as run_any
from scenario_tools import SHIPPED, written
from sides import start

from windtunnel.parts.copies.ledger import CopyLedger
from windtunnel.parts.streams.ledger import StreamLedger
from windtunnel.runs import Run
from windtunnel.runs.summary import summarise

WRITE = 256 << 10
SOURCE = {"bytes": "3MiB"}
PATIENT = {"drain": "30s"}
"""A retransmission may take seconds, and a host may give a process no CPU for as long."""
WITHOUT_TCP = "this engine was built without TCP, for want of cargo"
pytestmark = pytest.mark.slow
KERNEL = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network namespaces and opens packet sockets"),
]
PORT = 9000


def kernel(test):
    """Marks a test that has the kernel for a peer."""
    for mark in KERNEL:
        test = mark(test)
    return test


def streaming(stream=None, copies=None, *, workload=None, **keys) -> dict:
    """Both ends ours, every byte checked."""
    one = {"stream": {"write": WRITE} | (stream or {}), "source": SOURCE, "copies": {"verify": True} | (copies or {})}
    return scenario(one | (workload or {}), **PATIENT | keys)


def to_kernel(made: Namespace, stream=None, **keys) -> dict:
    """Ours writes to a socket in a namespace."""
    client = {"interface": made.interface, "ip": ENGINE_IP, "peer_ip": KERNEL_IP, "peer_mac": "resolve"}
    one = {"stream": {"write": WRITE} | (stream or {}), "source": SOURCE}
    wire = {"kind": "af_packet"} | keys.pop("wire", {})
    return scenario(one, wire=wire, client=client | {"peer_port": PORT}, **PATIENT | keys)


def execute(directory, data: dict | Path, *sets: str, **how) -> Run:
    """As elsewhere; skips in words where the engine has no TCP."""
    run = run_any(directory, data, *sets, **how).run
    if any(WITHOUT_TCP in reason for reason in run.record.verdict.reasons):
        pytest.skip(WITHOUT_TCP)
    return run


def streams(run: Run, side: str) -> list[StreamLedger]:
    every = (ledger for engine in run.record.engines for ledger in engine.result.streams)
    return [ledger for ledger in every if ledger.endpoint == side]


def copies_of(run: Run) -> CopyLedger:
    [ledger] = [ledger for engine in run.record.engines for ledger in engine.result.copies]
    return ledger


def assert_written(run: Run, write: int = WRITE) -> list[StreamLedger]:
    """Each connection of the client ended well, and all that was written is acknowledged."""
    clients = streams(run, "client")
    for ledger in clients:
        assert (ledger.state, ledger.buffered, ledger.missing) == ("closed", 0, 0)
        assert ledger.written == ledger.acknowledged > 0
    assert sum(ledger.written for ledger in clients) == messages(run).sent * write
    return clients


def assert_arrived(run: Run, write: int = WRITE) -> list[StreamLedger]:
    """And the server read and checked each byte."""
    assert_sound(run)
    clients, servers = assert_written(run, write), streams(run, "server")
    for client, server in zip(clients, servers, strict=True):
        assert server.read == server.checked.bytes == client.written
        assert server.checked.wrong_bytes == 0 and server.checked.first_wrong is None
    return clients


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("engine", MOVING)
def test_every_byte_of_a_stream_arrives(tmp_path, engine, checksum):
    run = execute(tmp_path, streaming({"checksum": checksum}, {"engine": engine}, duration="400ms"))
    assert_arrived(run)
    ledger = copies_of(run)
    assert ledger.bytes == messages(run).sent * WRITE and ledger.by_cpu == {}
    client, server = summarise(run).parts["streams"]
    assert client.gbps > 0 and (client.endpoint, server.endpoint) == ("client", "server")
    [copies] = summarise(run).parts["copies"]
    assert copies.gbps > 0


@pytest.mark.parametrize(
    ("write", "buffers"), [(64, {}), (4096, {"send_buffer": "4KiB"}), (1 << 20, {"receive_buffer": "64KiB"})]
)
def test_writes_of_every_size_fit_their_buffers(tmp_path, write, buffers):
    assert_arrived(execute(tmp_path, streaming({"write": write, "read": "3KiB"} | buffers)), write)


@pytest.mark.parametrize("mtu", [68, 9000])
def test_segments_of_every_size_carry_the_stream(tmp_path, mtu):
    assert_arrived(execute(tmp_path, streaming(client={"mtu": mtu}, server={"mtu": mtu})))


def test_a_rate_is_kept_by_an_open_loop(tmp_path):
    run = execute(tmp_path, streaming({"write": "4KiB"}, client={"rate": "1kpps"}))
    assert_arrived(run, 4096)
    assert summarise(run).workloads[0].loop == "open"


def test_two_connections_side_by_side(tmp_path):
    run = execute(tmp_path, streaming(workload={"apps": 2, "dispatchers": 2}))
    assert [ledger.application for ledger in assert_arrived(run)] == [0, 1]


def test_messages_run_beside_a_stream(tmp_path):
    data = streaming()
    data["workload"].append({"handler": "l_app", "timeout": "10s"})
    run = execute(tmp_path, data)
    assert_sound(run)
    assert streams(run, "server")[0].checked.wrong_bytes == 0
    assert all(ledger.responses > 0 for ledger in run.record.engines[0].result.messages)


def test_losses_cost_retransmissions_and_no_byte(tmp_path):
    wire = {"kind": "ring", "faults": {"loss": 0.001, "duplicate": 0.001, "reorder": 0.01}}
    run = execute(tmp_path, streaming(wire=wire) | {"duration": "1s"})
    [client] = assert_arrived(run)
    assert client.retransmitted_segments > 0


def test_two_processes_over_a_memif(tmp_path):
    assert_arrived(execute(tmp_path, streaming(copies={"engine": "dma"}, wire={"kind": "memif"})))


@pytest.mark.parametrize("seed", [3, 11])
def test_planted_lies_about_a_stream_are_found(tmp_path, seed):
    planted = {"engine": "planted", "options": {"fault": "lying", "share": "0.2", "most": 10}}
    run = execute(tmp_path, streaming(copies=planted) | {"seed": seed} | after(60))
    assert copies_of(run).planted.count == 10
    [checked] = [ledger.checked for ledger in streams(run, "server")]
    [reason] = run.record.verdict.reasons
    assert reason.startswith(f"copies wrong: {checked.wrong_bytes} of {checked.bytes} bytes that application 0")
    assert reason.endswith(f"the first at byte {checked.first_wrong} of the stream")
    assert checked.wrong_bytes >= 10


@pytest.mark.parametrize(("fault", "reason"), [("failing", "failed"), ("full", "no_room")])
def test_what_fails_or_finds_no_room_is_copied_by_the_cpu(tmp_path, fault, reason):
    planted = {"engine": "planted", "options": {"fault": fault, "share": "0.2"}}
    run = execute(tmp_path, streaming(copies=planted) | after(20))
    assert_arrived(run)
    assert list(copies_of(run).by_cpu) == [reason]


def test_late_copies_leave_the_stream_in_order(tmp_path):
    planted = {"engine": "planted", "options": {"fault": "late", "share": "0.2", "late_us": 2000}}
    assert_arrived(execute(tmp_path, streaming(copies=planted)))


def test_a_copier_that_ends_no_copy_costs_the_connection(tmp_path):
    planted = {"engine": "planted", "options": {"fault": "silent", "share": "0.2"}, "timeout": "20ms"}
    run = execute(tmp_path, streaming(copies=planted) | {"duration": "1s", "window": "100ms"})
    first, *more = run.record.verdict.reasons
    assert first.startswith(f"copies never ended: {copies_of(run).never_ended} of ")
    assert not any("reset" in reason for reason in more), more
    assert streams(run, "client")[0].state == "reset" and streams(run, "client")[0].missing == 0
    assert all(pool.missing == 0 for pool in run.record.engines[0].result.mbufs)


def test_an_interrupt_ends_a_stream_in_order(tmp_path):
    data = streaming() | {"duration": "1min"}
    run = execute(tmp_path, data, beside=lambda: os.kill(os.getpid(), signal.SIGINT))
    assert run.record.verdict.reasons == ["stopped before the end: interrupted by the user"]
    assert all(ledger.missing == 0 for ledger in streams(run, "client"))


@contextmanager
def reading(made: Namespace, *more: str, shipped: bool = False) -> Iterator[subprocess.Popen]:
    """The peer, listening for a stream of these tests or of the shipped scenario."""
    given = [*([] if shipped else ["--write", str(WRITE), "--source", SOURCE["bytes"]]), *more]
    command = ["ip", "netns", "exec", made.name, sys.executable, str(SHIPPED / "stream-to-kernel.py"), *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as peer:
        try:
            assert peer.stdout.readline() == f"listening on port {PORT}\n"
            yield peer
        finally:
            peer.kill()


@kernel
@pytest.mark.parametrize(
    "emulated",
    [{}, {"faults": {"loss": 0.001}}, {"link": {"rate": "500Mbps", "delay": "1ms"}}],
    ids=["plain", "lossy", "slow"],
)
def test_every_byte_reaches_a_socket_of_the_kernel(tmp_path, emulated):
    with namespace() as made, reading(made, "--seed", "7") as peer:
        run = execute(tmp_path, to_kernel(made, wire=emulated) | {"seed": 7, "duration": "1s"})
        said, _ = peer.communicate(timeout=60)
    assert run.record.verdict.reasons == []
    [client] = assert_written(run)
    assert said.startswith(f"{client.written} bytes from {ENGINE_IP} in ") and said.rstrip().endswith(" 0 wrong")
    assert peer.returncode == 0
    assert client.retransmitted_segments > 0 or "faults" not in emulated
    assert all(pool.missing == 0 for engine in run.record.engines for pool in engine.result.mbufs)


@kernel
def test_the_shipped_scenario_finds_its_peer(tmp_path):
    script = SHIPPED / "stream-to-kernel.sh"
    subprocess.run([script, "up"], check=True, timeout=60)
    try:
        with reading(Namespace("wt-ping", "wt0"), shipped=True) as peer:
            run = execute(tmp_path, SHIPPED / "stream-to-kernel.toml", "messages=20", "drain=30s")
            said, _ = peer.communicate(timeout=60)
    finally:
        subprocess.run([script, "down"], check=True, timeout=60)
    assert run.record.verdict.reasons == []
    [client] = assert_written(run, 1 << 20)
    assert said.startswith(f"{client.written} bytes from {ENGINE_IP} in ") and said.rstrip().endswith(" 0 wrong")


def write_some(made: Namespace) -> int:
    """Connects to the engine from inside, writes, and waits for its FIN; how many bytes."""
    with made.connected(ENGINE_IP, PORT) as connection:
        connection.sendall(bytes(3_000_001))
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    return 3_000_001


@kernel
def test_a_server_reads_what_the_kernel_writes(tmp_path):
    with namespace() as made:
        side = {"interface": made.interface, "ip": ENGINE_IP}
        data = scenario({"stream": {"read": "4KiB"}}, wire={"kind": "af_packet"}, server=side) | {"duration": "2s"}
        sent: list[int] = []
        run = execute(tmp_path, data, beside=lambda: sent.append(write_some(made)))
    assert run.record.verdict.reasons == []
    [server] = streams(run, "server")
    assert (server.state, server.read) == ("closed", sent[0])


@kernel
def test_the_peer_that_checks_finds_bytes_of_another_seed(tmp_path):
    with namespace() as made, reading(made, "--seed", "8") as peer:
        execute(tmp_path, to_kernel(made) | {"seed": 7})
        said, _ = peer.communicate(timeout=60)
    assert peer.returncode == 1 and ", the first at byte 0" in said


def reset_after(listener: socket.socket, count: int) -> None:
    """Takes a connection, reads some, and closes it with a reset."""
    with listener.accept()[0] as connection:
        connection.settimeout(20)
        while count > 0:
            count -= len(connection.recv(min(count, 65536)))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@kernel
def test_a_reset_by_the_peer_ends_the_run(tmp_path):
    with namespace() as made, made.listening(PORT) as listener:
        data = to_kernel(made) | {"duration": "1min"}
        run = execute(tmp_path, data, beside=lambda: reset_after(listener, 1 << 20))
    [reason] = run.record.verdict.reasons
    assert reason.startswith("stream reset: the connection of application 0 of the client, workload stream, with ")
    assert run.record.engines[0].result.reason == "stream reset"
    [client] = streams(run, "client")
    assert client.missing == 0 and client.acknowledged >= 1 << 20


@kernel
def test_a_killed_peer_ends_the_run(tmp_path):
    with namespace() as made, reading(made) as peer:
        data = to_kernel(made) | {"duration": "1min", "messages": None}

        def kill() -> None:
            while not made.command("ss", "-Htn", "state", "established", f"sport = :{PORT}"):
                pass
            peer.kill()

        run = execute(tmp_path, data, beside=kill)
    [reason] = run.record.verdict.reasons
    assert reason.startswith("stream reset: ")


@kernel
def test_nobody_listens(tmp_path):
    with namespace() as made:
        run = execute(tmp_path, to_kernel(made) | {"duration": "1min"})
    assert run.record.verdict.reasons == [
        f"no connection: port {PORT} of {KERNEL_IP} has reset application 0 of the client, workload stream: nobody listens there"
    ]


@kernel
def test_two_hosts_have_an_end_each(tmp_path):
    side = {"interface": "wt0"}
    data = streaming(wire={"kind": "af_packet"}, client=side, server=side)
    with two_hosts() as hosts:
        file = written(tmp_path, data)
        sides = {name: start(name, file, tmp_path / name, host=host) for name, host in hosts.items()}
        runs = {name: started.run() for name, started in sides.items()}
    for run in runs.values():
        if any(WITHOUT_TCP in reason for reason in run.record.verdict.reasons):
            pytest.skip(WITHOUT_TCP)
    [client], [server] = streams(runs["client"], "client"), streams(runs["server"], "server")
    assert (client.state, client.missing) == ("closed", 0)
    assert server.read == server.checked.bytes == client.written > 0 and server.checked.wrong_bytes == 0


def test_an_engine_without_tcp_says_so(tmp_path):
    [*reasons] = run_any(tmp_path, streaming()).run.record.verdict.reasons
    if not reasons or not any(WITHOUT_TCP in reason for reason in reasons):
        pytest.skip("this engine was built with TCP")
    [reason] = reasons
    assert reason.startswith("engine refused: workload stream: ") and "install Rust 1.91 or later with cargo" in reason
