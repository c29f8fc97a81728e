"""One scenario over Ethernet and over RDMA: `compare` runs both in turn, and each stage of both has its cost."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import forked
import pytest
from namespace import run as call
from namespace import veth_pair
from real_runs import stages
from scenario_tools import LENIENT, written

from windtunnel.measure.compare.comparison_record import Comparison
from windtunnel.runs import load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.usefixtures("loopback_addresses"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network interfaces and opens packet sockets"),
]
NO_VERDICT = 3
"""Exit code on a host that is too busy, or that changes its state between the runs."""
OF_SIDE = {
    "client": ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"),
    "server": ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"),
}
COMMON = {
    "duration": "400ms",
    "warmup": "20ms",
    "window": "100ms",
    "accounting": {"level": "cycles"},
    "workload": [{"handler": "l_app"}],
}


@contextmanager
def veth() -> Iterator[tuple[str, str]]:
    """Two interfaces with a wire between them."""
    token = secrets.token_hex(3)
    ends = (f"wta{token}", f"wtb{token}")
    call("ip", *veth_pair(*ends))
    try:
        for end in ends:
            call("sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{end}/disable_ipv6")
            call("ip", "link", "set", end, "up")
        yield ends
    finally:
        call("ip", "link", "delete", ends[0])


def test_one_scenario_over_af_packet_and_over_rdma(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with veth() as (client, server):
        ethernet = written(
            tmp_path / "a",
            COMMON
            | {
                "wire": {"kind": "af_packet"},
                "client": {"interface": client, "inflight": 32},
                "server": {"interface": server},
            },
        )
        rdma = written(
            tmp_path / "b",
            COMMON
            | {
                "wire": {"kind": "rdma", "type": "rc"},
                "client": {"ip": "127.0.0.2", "inflight": 32},
                "server": {"ip": "127.0.0.1"},
            },
        )
        changes = [text for change in LENIENT for text in ("--set", change)]
        done = forked.run(["compare", ethernet, rdma, "--pairs", "2", "--out", tmp_path / "out", *changes], text=True)
    assert done.returncode in (0, NO_VERDICT) and "Traceback" not in done.stderr, done.stderr + done.stdout
    compared = Comparison.model_validate_json((tmp_path / "out/comparison.json").read_text())
    assert done.returncode == NO_VERDICT or "another wire: A af_packet, B rdma" in compared.warnings
    runs = [load(file.parent) for file in (tmp_path / "out").rglob("run.json")]
    assert {run.record.engines[0].plan.endpoints[0].port.wire for run in runs} == {"af_packet", "rdma"}
    for run in runs:
        for side, names in OF_SIDE.items():
            for name in names:
                entries = stages(run, side, name)
                assert sum(entry.busy_cycles - entry.stall_cycles for entry in entries) > 0, (run.path, side, name)
