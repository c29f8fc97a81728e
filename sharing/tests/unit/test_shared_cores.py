"""What is measured is what runs: one way to share cores."""

import ast
from contextlib import closing, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from pool_tools import Turns
from sample_sharing import probed

import windtunnel_sharing
from windtunnel.errors import UserError
from windtunnel_sharing import costs
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.pools import cgroups, shared_cores
from windtunnel_sharing.pools.apply import Carrier
from windtunnel_sharing.pools.shared_cores import Shielding, shielding
from windtunnel_sharing.pools.shield import PREFIX, NoRealTime
from windtunnel_sharing.slicers.weights import LEAST_NICE

PRODUCT = Path(windtunnel_sharing.__file__).parent
CHECKOUT = PRODUCT.parents[2]
CPUS = (0, 1)
NO_PID = 2**30
ONLY_THERE = {"Shield", "Carrier", "softirqs_first"}
"""What makes a core a shared one."""


def callers(name: str) -> set[str]:
    found = set()
    for root in (PRODUCT, CHECKOUT / "bench", CHECKOUT / "sharing" / "studies"):
        for path in root.rglob("*.py"):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if f"{name}(" in text else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                    found.add(str(path.relative_to(CHECKOUT)))
    return found


@pytest.mark.parametrize("name", sorted(ONLY_THERE))
def test_everybody_shares_cores_by_the_same_function(name):
    assert callers(name) == {"sharing/src/windtunnel_sharing/pools/shared_cores.py"}


def test_no_shield_is_wanted():
    with shielding(wanted=False, raises=True) as around:
        assert around == Shielding(None, "none: `shield = false`")


@pytest.mark.parametrize("wanted", [False, True])
def test_what_a_killed_daemon_left_is_removed_by_the_next_start(monkeypatch, tmp_path, wanted):
    """Killed after it had made its groups, before anything else: no sweeper waits for its end, and no journal names them."""

    def refused(*_):
        raise UserError("no shield of our own")

    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Hierarchy(1, tmp_path, "cpu"))
    monkeypatch.setattr(shared_cores, "Shield", refused)
    (tmp_path / f"{PREFIX}{NO_PID}-1" / "inner").mkdir(parents=True)
    with shielding(wanted, raises=False):
        assert not list(tmp_path.iterdir())


def test_a_host_without_cgroups_has_no_shield_and_says_why(monkeypatch):
    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Nowhere("no cgroup hierarchy is mounted"))
    with shielding(wanted=True, raises=True) as around:
        assert around == Shielding(None, "none: no cgroup hierarchy is mounted")


def test_a_slicer_without_its_budget_is_refused_instead_of_run_without_a_shield(monkeypatch, tmp_path):
    def refused(*_):
        raise NoRealTime("no budget")

    monkeypatch.setattr(cgroups, "find", lambda: cgroups.Hierarchy(1, tmp_path, "cpu"))
    monkeypatch.setattr(shared_cores, "Shield", refused)
    with pytest.raises(NoRealTime), shielding(wanted=True, raises=True):
        pass


@pytest.mark.parametrize(("shield", "least_nice"), [(None, 0), (SimpleNamespace(enters_through=id), LEAST_NICE)])
def test_only_a_shield_finds_the_orphans_that_keep_a_nice_value_below_0(tmp_path, shield, least_nice):
    with closing(Journal(tmp_path / "a.journal")) as journal:
        carrier = Carrier(journal, Turns, 150_000, shield)
        carrier.warm(CPUS[0])
        assert carrier.slicers[CPUS[0]].least_nice == least_nice


def test_a_slicer_gets_what_the_probes_of_its_cpu_and_placement_say_of_its_turn(monkeypatch, tmp_path):
    kept = probed(turns=(16, 500))
    monkeypatch.setattr(costs, "kept", lambda cpu, shield: [kept] if (cpu, shield) == (CPUS[-1], False) else [])
    monkeypatch.setattr(shared_cores, "softirqs_first", lambda journal, cpus: nullcontext())
    with (
        closing(Journal(tmp_path / "a.journal")) as journal,
        shared_cores.shared_cores(journal, Turns, CPUS, 150_000, None) as carrier,
    ):
        for cpu in CPUS:
            carrier.warm(cpu)
        assert {cpu: slicer.turn_cost_ns for cpu, slicer in carrier.slicers.items()} == {
            cpu: 16_000 if cpu == CPUS[-1] else 0 for cpu in CPUS
        }
