"""Other programs as witnesses: tshark reads what was recorded, dpdk-testpmd sits at the other end of a memif."""

import re
import shutil
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from crosses import each_once
from real_runs import assert_sound, execute, messages, ports, run_well, scenario
from scenario_tools import SHIPPED

from windtunnel.engine.leftovers import runtime_directory

CHECKED = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
GOOD = "1"
SOCKET = "wire.sock"


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.fail(f"{name} is missing: ./test installs it")
    return path


def decoded(capture: Path, *fields: str) -> list[list[str]]:
    """The fields of each frame, checksums looked at."""
    wanted = [word for field in fields for word in ("-e", field)]
    command = [tool("tshark"), "-r", capture, *CHECKED, "-T", "fields", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.parametrize("change", [(), ("client.mtu=576", "server.mtu=576"), ("workload.0.request=17B",)])
def test_tshark_finds_nothing_wrong(tmp_path, change):
    run = run_well(tmp_path, SHIPPED / "record.toml", "duration=300ms", "warmup=100ms", "window=100ms", *change)
    frames = decoded(
        run.path / "run.pcap", "_ws.malformed", "ip.checksum.status", "udp.checksum.status", "ip.len", "udp.length"
    )
    result = run.record.engines[0].result
    assert len(frames) == result.recorded > 1000
    missed = result.record_missed  # while main had no CPU
    assert f"run.pcap in the run directory: {result.recorded:,} frames, {missed:,} missed" in run.record.all_notes()
    assert result.recorded + missed == sum(ports(run, side)["tx_packets"] for side in ("client", "server"))
    for malformed, ip_sum, udp_sum, ip_length, udp_length in frames:
        assert (malformed, ip_sum, udp_sum) == ("", GOOD, GOOD)
        assert int(ip_length) == 20 + int(udp_length)


TAGGED = ("client.vlan=100", "server.vlan=100", "client.vlan_priority=5")
OVER_IPV6 = ("client.ip=fd00::1", "server.ip=fd00::2")


@each_once(
    "around, size", [TAGGED, OVER_IPV6, TAGGED + OVER_IPV6], [f"workload.0.request={n}B" for n in (4000, 86, 17)]
)
def test_tshark_finds_nothing_wrong_with_tags_and_ipv6(tmp_path, around, size):
    short = ("duration=300ms", "warmup=100ms", "window=100ms")
    run = run_well(tmp_path, SHIPPED / "record.toml", *short, *around, size)
    fields = ("_ws.malformed", "udp.checksum.status", "udp.length", "vlan.id", "vlan.priority", "ip.len", "ipv6.plen")
    frames = decoded(run.path / "run.pcap", *fields)
    assert len(frames) == run.record.engines[0].result.recorded > 1000
    priorities = set()
    for malformed, udp_sum, udp_length, vlan, priority, ip_length, ipv6_payload in frames:
        assert (malformed, udp_sum, vlan) == ("", GOOD, "100" if around[0] in TAGGED else "")
        if OVER_IPV6[0] in around:
            assert (ip_length, ipv6_payload) == ("", udp_length)
        else:
            assert (int(ip_length), ipv6_payload) == (20 + int(udp_length), "")
        priorities.add(priority)
    assert priorities == ({"0", "5"} if around[0] in TAGGED else {""})


def test_tshark_sees_that_there_is_no_udp_checksum(tmp_path):
    short = ("duration=300ms", "warmup=100ms", "window=100ms")
    run = run_well(tmp_path, SHIPPED / "record.toml", "wire.udp_checksum=false", *short)
    frames = decoded(run.path / "run.pcap", "_ws.malformed", "ip.checksum.status", "udp.checksum")
    assert len(frames) > 1000
    assert set(map(tuple, frames)) == {("", GOOD, "0x0000")}
    assert any("0: none" in note for note in run.record.engines[0].ready.notes)


class Peer:
    """dpdk-testpmd at a memif, driven by its own commands."""

    def __init__(self, process: subprocess.Popen, log: Path):
        self._process, self._log = process, log

    def do(self, command: str) -> None:
        print(command, file=self._process.stdin, flush=True)

    def wait_for(self, pattern: str, count: int = 1) -> list:
        for _ in range(2000):
            if len(found := re.findall(pattern, self._log.read_text())) >= count:
                return found
            assert self._process.poll() is None, self._log.read_text()
            threading.Event().wait(0.01)
        raise AssertionError(f"testpmd does not say {pattern!r}: {self._log.read_text()}")

    def wait_until_sent(self, packets: int) -> None:
        """Wait until its port has sent `packets` in all: how soon it has depends on what else the host does."""
        for asked in range(1, 500):
            self.do("show port stats 0")
            if int(self.wait_for(r"NIC statistics for port 0[\s\S]*?TX-packets: (\d+)", asked)[-1]) >= packets:
                return
            threading.Event().wait(0.02)
        raise AssertionError(f"testpmd did not send {packets} packets: {self._log.read_text()}")

    def forwarded(self, times: int) -> list[tuple[int, int, int]]:
        """Packets received, sent, and dropped in front of a full ring, from each `start` to its `stop`."""
        pattern = r"Forward statistics for port 0  -+\n\s+RX-packets: (\d+).*\n\s+TX-packets: (\d+)\s+TX-dropped: (\d+)"
        return [tuple(map(int, counts)) for counts in self.wait_for(pattern, times)]


@contextmanager
def dpdk_testpmd(directory: Path, mode: str):
    command = ["stdbuf", "-oL", tool("dpdk-testpmd"), "-l", "0-1", "--no-huge", "-m", "256", "--no-pci"]
    prefix = f"wt-{directory.name}"
    command += ["--file-prefix", prefix, "--no-telemetry"]
    command += ["--vdev", f"net_memif0,role=server,socket={directory / SOCKET},socket-abstract=no"]
    command += ["--", "-i", f"--forward-mode={mode}", "--nb-cores=1", "--total-num-mbufs=16384", "--no-flush-rx"]
    log = directory / "testpmd.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, text=True)
    peer = Peer(process, log)
    try:
        peer.wait_for("Checking link statuses")
        yield peer
    finally:
        peer.do("quit")
        try:
            process.wait(10)
        finally:
            process.kill()
            process.communicate()
            shutil.rmtree(runtime_directory() / "dpdk" / prefix, ignore_errors=True)


def one_side(side: str):
    """Only this side's plan, as memif's client, whatever side of the traffic it is."""

    def change(spec):
        plan = spec.plans[spec.names.index(side)]
        [endpoint] = plan.endpoints
        port = endpoint.port.model_copy(update={"options": endpoint.port.options | {"role": "client"}})
        return [plan.model_copy(update={"endpoints": [endpoint.model_copy(update={"port": port})]})]

    return change


@pytest.mark.parametrize("size", [16, 1472])
def test_testpmd_sends_our_requests_back(tmp_path, size):
    """Twice for a while: what it says it sent is what was answered, and the pauses between cost lost messages and no more.
    It has to count while we are there: memif forgets when the link goes down."""
    workload = {"handler": "l_app", "request": size, "response": size, "timeout": "20ms"}
    data = scenario(workload, wire={"kind": "memif", "socket": SOCKET}, client={"inflight": 256}, drain="100ms")
    data["duration"] = "2s"
    with dpdk_testpmd(tmp_path, "5tswap") as peer:

        def forward_twice():
            for times in (1, 2):
                peer.do("start")
                threading.Event().wait(0.3)
                peer.wait_until_sent(times * 1000)
                peer.do("stop")
                peer.forwarded(times)
            return peer.forwarded(2)

        finished = execute(tmp_path, data, change=one_side("client"), beside=forward_twice)
    assert_sound(finished.run)
    ledger, port = messages(finished.run), ports(finished.run, "client")
    for received, sent, dropped in finished.beside:
        assert received == sent + dropped
        assert sent > 256
    assert port["rx_packets"] == sum(sent for _, sent, _ in finished.beside) == ledger.responses + ledger.late
    assert ledger.sent == ledger.responses + ledger.lost
    assert ledger.responses > ledger.lost > 0


def test_testpmd_gets_back_every_frame_that_it_generates(tmp_path):
    data = scenario({"packet_handler": "echo"}, wire={"kind": "memif", "socket": SOCKET}, drain="0s")
    data["duration"] = "2s"
    with dpdk_testpmd(tmp_path, "flowgen") as peer:

        def exchange():
            peer.do("start")
            threading.Event().wait(0.3)
            peer.do("stop")
            peer.forwarded(1)
            # What had come back but was not read yet.
            peer.do("set fwd rxonly")
            peer.do("start")
            threading.Event().wait(0.3)
            peer.do("stop")
            return peer.forwarded(2)

        finished = execute(tmp_path, data, change=one_side("server"), beside=exchange)
    assert_sound(finished.run)
    (while_sending, generated, _), (left_over, none, _) = finished.beside
    port = ports(finished.run, "server")
    assert none == 0
    assert port["rx_packets"] == port["tx_packets"] == generated > 1000
    assert while_sending + left_over == generated
