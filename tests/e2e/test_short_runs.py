"""Every shipped scenario, run as a user runs it, only shorter."""

import pytest
from part_samples import part_samples, use_fixtures
from real_runs import SHORT_OF_TWO, assert_sound
from scenario_tools import SHIPPED
from short_runs import run_short

from windtunnel.runs import load
from windtunnel.scenario import load as load_scenario

ELSEWHERE = {"kernel-ping", "kernel-af_xdp", "kernel-tap", "nic", "plugin", "two-hosts"}.union(
    *part_samples("RUN_ELSEWHERE")
)
"""Run with what they need: root in test_kernel_peers and test_two_hosts, a compiler in test_plugin, a NIC in
guest/guest_runs."""


@pytest.mark.parametrize("name", sorted({file.stem for file in SHIPPED.glob("*.toml")} - ELSEWHERE))
def test_shipped_scenario_ends_in_a_valid_run(tmp_path, name, request):
    if name.startswith("rdma"):
        request.getfixturevalue("rdma_addresses")
    use_fixtures(name, request)
    of_two = load_scenario(SHIPPED / f"{name}.toml").wire.kind == "memif"
    longer = [f"duration={SHORT_OF_TWO['duration']}", f"warmup={SHORT_OF_TWO['warmup']}"] if of_two else []
    shown = run_short(SHIPPED / f"{name}.toml", tmp_path / "run", *longer)
    assert shown["verdict"] == {"valid": True, "reasons": []}
    assert shown["metrics"]["stages"]
    run = load(tmp_path / "run")
    assert_sound(run)
    assert sum(window.phase == "measure" for windows in run.windows.values() for window in windows) >= 3
    for engine in run.record.engines:
        for ledger in engine.result.messages:
            assert ledger.responses > 0
    assert sum(port.rx_packets for windows in run.windows.values() for w in windows for port in w.ports) > 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.rstrip().endswith("</html>") and run.record.title in page
