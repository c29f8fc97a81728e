"""Every shipped scenario, run as a user runs it, only shorter."""

import pytest
from part_samples import part_samples, use_fixtures
from scenario_tools import SHIPPED
from short_runs import run_shipped

ELSEWHERE = {"kernel-ping", "kernel-af_xdp", "kernel-tap", "nic", "plugin", "two-hosts"}.union(
    *part_samples("RUN_ELSEWHERE")
)
"""Run with what they need: root in test_kernel_peers and test_two_hosts, a compiler in test_plugin, a NIC in
guest/guest_runs."""


@pytest.mark.parametrize("name", sorted({file.stem for file in SHIPPED.glob("*.toml")} - ELSEWHERE))
def test_shipped_scenario_ends_in_a_valid_run(tmp_path, name, request):
    use_fixtures(name, request)
    run_shipped(name, tmp_path / "run")
