"""Two network namespaces as two hosts, a veth between them: one file, two sides, one report; and who does not fit is told."""

import os
import signal
import socket
import threading

import pytest
from hostile_frames import ether, ip, udp
from namespace import two_hosts
from real_runs import assert_sound, drops
from scenario_tools import SHIPPED
from sides import (
    BUSY,
    ENOUGH,
    OTHER_VERSION,
    STATE_GO,
    STATE_HELLO,
    hello,
    meet,
    met,
    read_hello,
    start,
    turned,
    waits,
)

from windtunnel.runs.joined import crossings, join
from windtunnel.version import __version__

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network namespaces and opens packet sockets"),
]
FILE = SHIPPED / "two-hosts.toml"


def ask(raw: socket.socket, payload: bytes) -> dict[str, int]:
    """Says a word to the server and returns its answer to it."""
    raw.send(ether(ip(udp(payload))))
    while True:
        if (response := read_hello(raw.recv(2048))) and response["from_server"] and response["client"] == 42:
            return response


def test_two_hosts_run_one_file_despite_foreign_hellos(tmp_path):
    with two_hosts() as hosts:
        slow = (*ENOUGH, "messages=1000", "client.rate=1kpps")  # so that a Python socket can read along
        server = start("server", FILE, tmp_path / "server", *slow, host=hosts["server"])
        plan = bytes.fromhex(server.until(waits).engines[0].plan.hash)[:16]  # a client's half
        with hosts["client"].raw() as raw:
            raw.send(ether(ip(udp(hello()[:50]))))
            raw.send(ether(ip(udp(hello(client=0)))))
            raw.send(ether(ip(udp(hello(state=STATE_GO, plan=plan)))))
            assert ask(raw, hello(version=2, engine=b"9.9.9")[:64])["status"] == OTHER_VERSION
            other = start("client", FILE, tmp_path / "other", *slow, "seed=2", host=hosts["client"])
            code, said = other.ended()
            assert code == 2 and "the server has another plan: " in said and "same --set" in said
            client = start("client", FILE, tmp_path / "client", *slow, host=hosts["client"])
            client.until(met)
        with hosts["client"].raw() as raw:
            assert ask(raw, hello(plan=plan))["status"] == BUSY
        runs = [client.run(), server.run()]
    for run in runs:
        assert_sound(run)
    named = drops(runs[1], "server")
    assert named.pop("refused_hello") >= 3
    assert named == {"bad_hello": 2, "stray_hello": 1}
    told = [phase.name for phase in runs[1].record.engines[0].phases if phase.name.startswith("refused")]
    assert len(told) == 3
    assert told[0].startswith("refused a hello: the client's engine is 9.9.9 (hello version 2), this one ")
    assert told[1].startswith("refused a hello: the client has another plan: ")
    assert told[2] == "refused a hello: a second client connects while the first one runs"
    joined = join(runs)
    assert joined.record.verdict.valid
    assert all(crossing.lost == 0 and crossing.sent > 100 for crossing in crossings(joined))


def other_version(asked: bytes, of_server: bytes) -> list[bytes]:
    client = read_hello(asked)["client"]
    return [turned(asked, hello(from_server=True, version=2, engine=b"9.9.9", client=client, server=1))]


def two_servers(asked: bytes, of_server: bytes) -> list[bytes]:
    received = read_hello(asked)
    keys = {"client": received["client"], "plan": of_server, "state": received["state"]}
    return [turned(asked, hello(from_server=True, server=server, **keys)) for server in (1, 2)]


def echo(asked: bytes, of_server: bytes) -> list[bytes]:
    """By who knows no more of the plan than the client says."""
    return two_servers(asked, read_hello(asked)["plan"])[:1]


@pytest.mark.parametrize(
    ("responses", "words"),
    [
        (other_version, f"the server's engine is 9.9.9 (hello version 2), this one {__version__} (hello version 1)"),
        (two_servers, "two servers respond to this client's hello"),
        (echo, "the server has another plan: "),
    ],
)
def test_a_client_refuses_the_wrong_server(tmp_path, responses, words):
    ended = threading.Event()
    with two_hosts() as hosts, hosts["server"].raw() as raw:
        client = start("client", FILE, tmp_path / "client", host=hosts["client"])
        plan = bytes.fromhex(client.until(lambda record: record.engines).engines[0].plan.hash)

        def response():
            raw.settimeout(0.1)
            while not ended.is_set():
                try:
                    frame = raw.recv(2048)
                except TimeoutError:
                    continue
                if (asked := read_hello(frame)) and not asked["from_server"] and asked["state"] == STATE_HELLO:
                    for turned_frame in responses(frame, plan[16:]):
                        raw.send(turned_frame)

        thread = threading.Thread(target=response)
        thread.start()
        try:
            code, said = client.ended()
        finally:
            ended.set()
            thread.join()
    assert code == 2
    assert f"engine refused: {words}" in " ".join(said.split())


def test_a_side_ends_soon_after_its_peer_is_killed(tmp_path):
    """Two runs at once: of one the client is killed, of the other the server."""
    with two_hosts() as first, two_hosts() as second:
        specs = {"client": first, "server": second}
        finished = {}
        for victim, hosts in specs.items():
            long = ("duration=10min", "window=1s")
            sides = {side: start(side, FILE, tmp_path / f"{side}-{victim}", *long, host=hosts[side]) for side in hosts}
            finished[victim] = sides
        for victim, sides in finished.items():
            meet(sides.values())
            os.kill(sides[victim].until(met).engines[0].hello.pid, signal.SIGKILL)
        for victim, sides in finished.items():
            [survivor] = [side for name, side in sides.items() if name != victim]
            assert survivor.ended()[0] == 1
            assert "peer lost: the engine saw the other side go" in survivor.run().record.verdict.reasons
            assert "SIGKILL" in sides[victim].run().record.verdict.reasons[0]
