"""The probe in an application that is not ours: what it counts is what testpmd counts, and testpmd goes on whatever happens."""

import json
import socket
import threading
import time

import pytest
from attach_tools import COUNTS, LATENCY, PROBE, READY, RX, SIZED, STATS, TIMED, TX, inject, observe, observer, wait_for
from processes import thread_names
from testpmd import Testpmd, forwarded, testpmd

pytestmark = pytest.mark.slow
ALL = COUNTS | TIMED | SIZED | LATENCY | STATS


@pytest.mark.alone
@pytest.mark.parametrize("burst", [1, 32])
def test_packets_and_bursts_are_those_of_testpmds_own_statistics(burst: int) -> None:
    with testpmd(f"--burst={burst}", "--record-burst-stats") as app:
        done = inject(app.pid)
        assert done.returncode == 0, done.stderr
        with observer(app.pid, modes=ALL, timed_every=16, **{"for": 4000}) as watching:
            wait_for(lambda: list(thread_names(app.pid).values()).count("wt-attach") == 1, "loaded")
            time.sleep(0.5)  # within 5 ms all is wrapped: the page's counts say so below
            app.tell("start")
            time.sleep(0.5)
            own = forwarded(app.tell("stop"))
            page = watching.page()
    assert page["state"] == READY
    assert page["port"][0]["wraps"] == page["port"][1]["wraps"] == 1
    for port in (0, 1):
        channels = {c["direction"]: c for c in page["channel"] if c["port"] == port}
        assert channels[RX]["packets"] == own[port]["RX-packets"] > 0
        assert channels[TX]["packets"] == own[port]["TX-packets"] > 0
        assert channels[RX]["bursts"][burst] == own[port]["RX-bursts"]
        assert channels[TX]["bursts"][burst] == own[port]["TX-bursts"]
        assert channels[RX]["sized_bytes"] == 64 * channels[RX]["sized_packets"]
        assert channels[RX]["lcore"] == 1


@pytest.mark.alone
def test_eals_own_option_loads_it_before_there_is_a_port() -> None:
    with testpmd(load=PROBE) as app:
        assert inject(app.pid).stdout == f"process {app.pid} has the probe already\n"
        app.tell("start")
        page = observe(app.pid, modes=ALL, timed_every=8, **{"for": 300})
        assert page["port"][1]["wraps"] == 1
        assert {c["port"] for c in page["channel"] if c["calls"]} == {0, 1}
        assert int(forwarded(app.tell("stop"))[0]["RX-packets"]) > 0


def restart_ports(app: Testpmd) -> None:
    app.tell("stop")
    for port in (0, 1):
        app.tell(f"port stop {port}")
        app.tell(f"port start {port}")
    app.tell("start")


@pytest.mark.alone
def test_ports_are_restarted_while_the_probe_comes_and_goes() -> None:
    with testpmd() as app:
        assert inject(app.pid).returncode == 0
        with observer(app.pid, modes=ALL, on_us=1000, period_us=2000, timed_every=8, **{"for": 600_000}):
            app.tell("start")
            for _ in range(10):
                restart_ports(app)
            assert int(forwarded(app.tell("stop"))[0]["RX-packets"]) > 0
        assert app.process.poll() is None


def query(prefix: str, command: str) -> dict:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asker:
        asker.connect(f"/var/run/dpdk/{prefix}/dpdk_telemetry.v2")
        asker.recv(1024)
        asker.send(command.encode())
        return json.loads(asker.recv(16384))


@pytest.mark.long("kills")
def test_three_hundred_injections_beside_queries_of_the_same_thread() -> None:
    for _ in range(300):
        with testpmd() as app:
            app.tell("start")
            replies: list[dict] = []
            asking = threading.Event()

            def ask(prefix: str = app.prefix, into: list[dict] = replies, until: threading.Event = asking) -> None:
                while not until.is_set():
                    into.append(query(prefix, "/ethdev/stats,0"))

            asker = threading.Thread(target=ask)
            asker.start()
            try:
                done = inject(app.pid)
                assert done.returncode == 0, done.stderr
                page = observe(app.pid, modes=ALL, timed_every=8, **{"for": 50})
            finally:
                asking.set()
                asker.join()
            assert page["port"][0]["wraps"] == 1
            assert all("/ethdev/stats" in reply for reply in replies)
            assert query(app.prefix, "/info")["/info"]["pid"] == app.pid
            assert int(forwarded(app.tell("stop"))[0]["RX-packets"]) > 0
