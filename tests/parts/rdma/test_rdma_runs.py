"""RDMA over libfabric's software providers: every type and handler in one process, both sides in two, and peers that die."""

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from crosses import cross, each_once
from processes import children
from rdma_samples import RUN_ELSEWHERE
from real_runs import assert_sound, drops, execute, scenario, stages
from scenario_tools import SHIPPED
from short_runs import run_shipped
from sides import ENOUGH, meet, start, waits

from windtunnel.engine.find import find_engine
from windtunnel.engine.query import handlers
from windtunnel.runs import EngineRecord
from windtunnel.runs.joined import crossings, join

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loopback_addresses")]

TYPES = ("rc", "ud", "rdm")
PORT = 9000
"""The server's, where a scenario names none."""
SIDES = {"client": {"ip": "127.0.0.2", "inflight": 512}, "server": {"ip": "127.0.0.1"}}


def rdma(kind: str, *workloads: dict, **wire) -> dict:
    return scenario(*workloads, wire={"kind": "rdma", "type": kind} | wire, **SIDES)


@pytest.mark.parametrize("name", sorted(RUN_ELSEWHERE))
def test_a_shipped_scenario_ends_in_a_valid_run(tmp_path, name):
    run_shipped(name, tmp_path / "run")


def waits_for_link(record) -> bool:
    return bool(record.engines) and any(phase.name == "waiting for the link" for phase in record.engines[0].phases)


def log_of(side) -> str:
    return "".join(log.read_text(errors="replace") for log in side.out.glob("*.log"))


def of_messages() -> list[str]:
    return [handler.name for handler in handlers(find_engine()) if handler.kind == "message"]


@pytest.mark.parametrize("kind", TYPES)
def test_every_message_handler_runs_on_each_type(tmp_path, kind):
    sizes = {"request": 600, "response": 600}
    names = of_messages()
    run = execute(tmp_path, rdma(kind, *({"handler": name} | sizes for name in names))).run
    assert_sound(run)
    [engine] = run.record.engines
    assert len(engine.result.messages) == len(names) >= 5
    assert all(ledger.responses > 0 for ledger in engine.result.messages)


@pytest.mark.parametrize("kind", TYPES)
def test_messages_of_several_packets_arrive_whole(tmp_path, kind):
    run = execute(tmp_path, rdma(kind, {"handler": "t_app", "request": 6000, "response": 4000}, signal_every=4)).run
    assert_sound(run)
    [ledger] = run.record.engines[0].result.messages
    assert ledger.responses > 0 and ledger.duplicates == 0


def full_socket_buffers() -> int:
    """Datagrams that this host's kernel has dropped because a socket had no room."""
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Udp:")
    )
    return int(values[names.index("RcvbufErrors")])


def test_what_a_full_receive_queue_loses_is_lost_in_the_fabric(tmp_path):
    """The kernel's socket buffer overflows while the server's one worker handles its messages. The ledger calls lost what it lacks, so
    the kernel must have dropped as many, beside those of the provider's trial at opening: a run that loses nothing has them, too."""
    data = rdma("ud", {"handler": "l_app", "request": 1400, "response": 64, "extra_ticks": 100_000})

    def lost(client: dict, timeout: str) -> tuple[EngineRecord, int, int]:
        """By the ledger, and by the kernel. A server without a CPU for longer than the timeout would have more than `inflight` in its buffer."""
        before = full_socket_buffers()
        directory = tmp_path / "-".join(client)
        directory.mkdir()
        data["client"], data["workload"][0]["timeout"] = {"ip": "127.0.0.2"} | client, timeout
        [engine] = execute(directory, data, "server.rx_descriptors=64").run.record.engines
        by_ledger = sum(ledger.dropped.get("in_fabric", 0) for ledger in engine.result.packets)
        return engine, by_ledger, full_socket_buffers() - before

    _, nothing, in_trial = lost({"inflight": 32}, "10s")
    engine, by_ledger, by_kernel = lost({"rate": "200kpps", "inflight": 16384}, "20ms")
    assert nothing == 0 and by_ledger == by_kernel - in_trial
    towards_server = next(ledger for ledger in engine.result.packets if ledger.source == "client")
    assert towards_server.dropped["in_fabric"] > 0
    assert towards_server.sent == towards_server.received + towards_server.in_wire + sum(
        towards_server.dropped.values()
    )
    assert all(ledger.missing == 0 for ledger in [*engine.result.packets, *engine.result.mbufs])


PIECES = {"handler": "empty", "request": 22, "response": 22}


@cross("kind, operation, piece", ["rc", "rdm"], ["read", "write"], ["8B", "4MiB"])
def test_pieces_of_the_servers_region_are_read_and_written(tmp_path, kind, operation, piece):
    data = rdma(kind, PIECES | {"timeout": "1min"}, operation=operation, piece=piece, region="16MiB")
    data["client"] = {"ip": "127.0.0.2", "inflight": 4, "batch": {"app_tx": 4}}
    run = execute(tmp_path, data, "drain=1min").run
    assert_sound(run)
    [engine] = run.record.engines
    moved = engine.result.xstats["client"]["bytes read" if operation == "read" else "bytes written"]
    assert moved == engine.result.messages[0].responses * (8 if piece == "8B" else 4 << 20) > 0
    assert stages(run, "server", "app_rx") and not any(s.objects for s in stages(run, "server", "app_rx"))
    assert any("the server's stages are idle" in note for note in engine.ready.notes)


@pytest.mark.parametrize("kind", TYPES)
def test_runs_of_two_processes_join(tmp_path, kind):
    sides = [start(side, SHIPPED / f"rdma-{kind}.toml", tmp_path / side, *ENOUGH) for side in ("client", "server")]
    runs = [side.run() for side in sides]
    for run in runs:
        assert_sound(run)
    joined = join(runs)
    assert joined.record.verdict.valid
    assert all(crossing.sent >= crossing.received > 100 for crossing in crossings(joined))
    assert kind == "ud" or all(crossing.sent == crossing.received for crossing in crossings(joined))


@pytest.mark.parametrize("kind", ["rc", "ud"])
def test_a_client_of_another_file_is_told_and_the_server_waits_for_the_right_one(tmp_path, kind):
    file = SHIPPED / f"rdma-{kind}.toml"
    server = start("server", file, tmp_path / "server", *ENOUGH)
    server.until(waits_for_link if kind == "rc" else waits)
    other = start("client", file, tmp_path / "other", "seed=2", *ENOUGH)
    code, said = other.ended()
    assert code == 2 and "the server has another plan: " in said and "the same file" in said
    client = start("client", file, tmp_path / "client", *ENOUGH)
    for side in (client, server):
        assert_sound(side.run())
    if kind == "rc":
        assert "refused a client: the client has another plan: " in log_of(server)


def test_a_second_client_is_told_and_the_first_one_goes_on(tmp_path):
    file = SHIPPED / "rdma-rc.toml"
    sides = [start(side, file, tmp_path / side, "duration=1min") for side in ("server", "client")]
    meet(sides)
    code, said = start("client", file, tmp_path / "second", "duration=1min").ended()
    assert code == 2 and "the server has another client already" in said
    assert all(side.process.poll() is None for side in sides)
    sides[1].process.send_signal(signal.SIGINT)
    for side in sides:
        reasons = side.run().record.verdict.reasons  # a busy host may have excluded windows, too
        assert any(reason.startswith("stopped before the end") for reason in reasons), reasons
        assert not any("peer lost" in reason or "died" in reason for reason in reasons), reasons


@pytest.mark.parametrize("kind", ["ud", "rdm"])
def test_a_second_end_at_one_address_is_refused(tmp_path, kind):
    file = SHIPPED / f"rdma-{kind}.toml"
    server = start("server", file, tmp_path / "server")
    server.until(waits if kind == "ud" else waits_for_link)
    code, said = start("server", file, tmp_path / "second").ended()
    assert code == 2 and "has the address 127.0.0.1, port" in said and "choose another server.port" in said
    assert server.process.poll() is None
    server.process.send_signal(signal.SIGINT)
    server.ended()


def test_a_client_of_another_type_finds_no_server(tmp_path):
    server = start("server", SHIPPED / "rdma-rc.toml", tmp_path / "server", more=("--wait", "4s"))
    server.until(waits_for_link)
    client = start("client", SHIPPED / "rdma-ud.toml", tmp_path / "client", more=("--wait", "1s"))
    code, said = client.ended()
    assert code == 2 and "no server responded to the hello within 1 s" in said
    code, said = server.ended()
    assert code == 2 and "no client sent a hello within 4 s" in said


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9.2\r\n" * 20], ids=["silent", "ssh"])
def test_a_server_that_is_no_windtunnel_is_not_believed(tmp_path, said):
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        listening.settimeout(20)
        held = pool.submit(_talk, listening, said)
        port = f"server.port={listening.getsockname()[1]}"
        client = start("client", SHIPPED / "rdma-rc.toml", tmp_path / "client", port, more=("--wait", "2s"))
        code, words = client.ended()
        for connection in held.result():
            connection.close()
    assert code == 2 and "no server responded to the hello within 2 s" in words


def _talk(listening: socket.socket, said: bytes) -> list[socket.socket]:
    """Greets whoever connects first, and waits for no one else."""
    connection, _ = listening.accept()
    connection.sendall(said)
    return [connection]


def test_a_stranger_at_the_servers_port_is_no_client(tmp_path):
    file = SHIPPED / "rdma-rc.toml"
    server = start("server", file, tmp_path / "server", *ENOUGH)
    server.until(waits_for_link)
    with socket.create_connection(("127.0.0.1", PORT)) as idle, socket.create_connection(("127.0.0.1", PORT)) as loud:
        loud.sendall(b"GET / HTTP/1.1\r\n\r\n" * 50)
        client = start("client", file, tmp_path / "client", *ENOUGH)
        for side in (client, server):
            assert_sound(side.run())
        assert idle.fileno() >= 0


def test_strange_datagrams_are_dropped_by_name(tmp_path):
    data = rdma("ud", {"handler": "l_app"}) | {"duration": "600ms"}
    data["client"] = {"ip": "127.0.0.2", "inflight": 32}  # the kernel's buffer has room for strangers, too

    def throw():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for size in (0, 1, 21, 22, 200, 1472):
                stranger.sendto(b"\xff" * size, ("127.0.0.1", PORT))

    run = execute(tmp_path, data, beside=throw).run
    assert drops(run, "server")["bad_message_header"] >= 5
    [engine] = run.record.engines
    assert all(ledger.missing == 0 for ledger in engine.result.mbufs)


def test_the_memory_of_another_process_is_read(tmp_path):
    sides = [start(side, SHIPPED / "rdma-read.toml", tmp_path / side, *ENOUGH) for side in ("client", "server")]
    client, server = (side.run() for side in sides)
    assert_sound(client)
    assert_sound(server)
    assert client.record.engines[0].result.xstats["client"]["bytes read"] > 0


@each_once("kind, killed", ["rc", "ud"], ["client", "server"])
def test_a_peer_that_is_killed_ends_the_run(tmp_path, kind, killed):
    file = SHIPPED / f"rdma-{kind}.toml"
    sides = {side: start(side, file, tmp_path / side, "duration=1min") for side in ("client", "server")}
    meet(sides.values())
    victim = sides.pop(killed)
    [engine] = children(victim.process.pid)
    os.kill(engine, signal.SIGKILL)
    [survivor] = sides.values()
    code, said = survivor.ended()
    victim.ended()
    assert code == 1, said
    run = survivor.run()
    assert "peer lost: the engine saw the other side go" in run.record.verdict.reasons
    [engine] = run.record.engines
    assert all(ledger.missing == 0 for ledger in [*engine.result.mbufs, *engine.result.messages])
