"""The wires af_xdp and tap: what a run leaves of an interface, and what it refuses."""

import json
import os
import secrets
import signal
import subprocess
import time
from pathlib import Path

import pytest
from kernel_peer import execute, over_tap, over_veth, over_xdp, ping
from namespace import run
from processes import children
from real_runs import assert_sound

from windtunnel.engine import xdp
from windtunnel.errors import UserError

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network interfaces and opens XDP sockets"),
]


def link(interface: str) -> dict:
    """What a run must not change: addresses, MTU, flags, and what hangs on the interface."""
    shown = subprocess.run(["ip", "-json", "-details", "link", "show", interface], check=True, capture_output=True)
    [found] = json.loads(shown.stdout)
    return {key: found.get(key) for key in ("address", "mtu", "flags", "promiscuity", "allmulti", "xdp")}


def test_xdp_restores_the_interface(tmp_path):
    with over_xdp() as peer:
        before = link(peer.interface)
        seen = execute(tmp_path, peer.server({"packet_handler": "echo"}), beside=lambda: xdp.program(peer.interface))
        assert_sound(seen.run)
        assert seen.beside.startswith("xsk_def_prog (id ")
        assert link(peer.interface) == before
        assert before["xdp"] is None


def test_the_xdp_program_of_a_killed_engine_is_removed(tmp_path):
    with over_xdp() as peer:
        before = link(peer.interface)

        def kill():
            [engine] = [
                child
                for guard in children(os.getpid())
                for child in children(guard)
                if Path(f"/proc/{child}/comm").read_text() == "windtunnel-engi\n"
            ]
            os.kill(engine, signal.SIGKILL)

        finished = execute(tmp_path, peer.server({"packet_handler": "echo"}), beside=kill)
        [reason] = finished.run.record.verdict.reasons
        assert reason.startswith("engine died: SIGKILL while"), "running, or about to"
        assert link(peer.interface) == before


def test_unusable_interfaces_are_refused_with_a_message(tmp_path):
    with over_xdp() as peer:
        data = peer.server({"packet_handler": "echo"})

        def reasons() -> str:
            place = tmp_path / secrets.token_hex(3)
            place.mkdir()
            return " ".join(execute(place, data).run.record.verdict.reasons)

        run("ip", "link", "set", peer.interface, "down")
        assert "is down (ip link set dev" in reasons()
        run("ip", "link", "set", peer.interface, "up", "mtu", "1400")
        assert "its MTU is 1400, the plan's is 1500" in reasons()
        run("ip", "link", "set", peer.interface, "mtu", "1500")
        data["workload"][0]["dispatchers"] = 2
        assert "finds 1 queue(s) in it, the plan needs 2" in reasons()
        with pytest.raises(UserError, match=f'an interface "{peer.interface}" exists'):
            execute(tmp_path, data | {"wire": {"kind": "tap"}})


@pytest.mark.parametrize("over", [over_veth, over_xdp])
def test_a_carrier_that_is_lost_is_booked(tmp_path, over):
    """The drivers say "up" all the time; the kernel knows better."""
    with over() as peer:
        other_end = peer.interface.replace("wte", "wtk")

        def pull_and_put_back():
            peer.command("ip", "link", "set", other_end, "down")
            time.sleep(0.5)
            peer.command("ip", "link", "set", other_end, "up")

        data = peer.server({"packet_handler": "echo"}) | {"duration": "4s"}
        seen = execute(tmp_path, data, beside=pull_and_put_back)
        assert_sound(seen.run)
        phases = [phase.name for phase in seen.run.record.engines[0].phases]
        assert "running, though the link of the server is down" in phases
        assert "running, and the link of the server is up again" in phases
        assert sum(port.link_down_ns or 0 for w in seen.run.windows["windtunnel"] for port in w.ports) > 0


def test_tap_shares_its_flows_among_queues(tmp_path):
    with over_tap() as peer:
        data = peer.server({"packet_handler": "echo", "dispatchers": 2})

        def talk():
            peer.meet()
            return ping(peer.command, peer.engine_ip, 20)

        finished = execute(tmp_path, data, beside=talk)
        assert_sound(finished.run)
        assert finished.beside == list(range(1, 21)), "ARP and ICMP are answered on every queue"
