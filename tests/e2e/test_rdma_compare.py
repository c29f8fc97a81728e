"""One scenario over Ethernet and over RDMA: `compare` gives a verdict, with the cost of each stage on both."""

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hostile_run import COMMAND
from namespace import run
from scenario_tools import LENIENT, written

from windtunnel.measure.compare.model import Comparison

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes network interfaces and opens packet sockets"),
]
TOLD = {"faster", "slower", "no difference shown"}
OF_SIDE = {
    "client": ("app_tx", "disp_tx", "nic_tx", "nic_rx", "disp_rx", "app_rx"),
    "server": ("nic_rx", "disp_rx", "app_rx", "disp_tx", "nic_tx"),
}
COMMON = {"duration": "400ms", "warmup": "100ms", "window": "100ms", "workload": [{"handler": "l_app"}]}


@contextmanager
def veth() -> Iterator[tuple[str, str]]:
    """Two interfaces with a wire between them."""
    token = secrets.token_hex(3)
    ends = (f"wta{token}", f"wtb{token}")
    run("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
    try:
        for end in ends:
            run("sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{end}/disable_ipv6")
            run("ip", "link", "set", end, "up")
        yield ends
    finally:
        run("ip", "link", "delete", ends[0])


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
        command = [
            *COMMAND,
            "compare",
            str(ethernet),
            str(rdma),
            "--pairs",
            "4",
            "--out",
            str(tmp_path / "out"),
            *changes,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    found = Comparison.model_validate_json((tmp_path / "out/comparison.json").read_text())
    assert "another wire: A af_packet, B rdma" in found.warnings
    [point] = found.points
    [judged] = point.judged
    assert judged.verdict in TOLD, judged
    for side, stages in OF_SIDE.items():
        for stage in stages:
            [cost] = [measure for measure in point.measures if measure.metric == f"{side}.{stage}.work_ns"]
            assert all(value and value > 0 for value in [*cost.a, *cost.b]), cost
