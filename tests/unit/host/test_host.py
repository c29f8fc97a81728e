"""Host facts from made-up /proc and /sys trees, the verdicts on them, and doctor's two ways to show them."""

import json
import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from windtunnel.cli import doctor as doctor_module
from windtunnel.engine.find import quickstart
from windtunnel.errors import UserError
from windtunnel.host import counters, cpus, memory, perf_events
from windtunnel.host.dpdk import read_dpdk, read_nics
from windtunnel.host.facts import Facts, collect
from windtunnel.host.findings import Finding, size, spans
from windtunnel.host.judge_cpus import judge_cpus
from windtunnel.host.judge_system import judge_system, version
from windtunnel.host.read import Probe, cpu_list, number

RUNNER = CliRunner()
GIB = 1 << 30

BARE_METAL = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n\nprocessor\t: 1\n",
    "proc/stat": "cpu  100 0 100 700 50 0 50 0 0 0\ncpu0 1 2 3\n",
    "proc/meminfo": "MemTotal:       65536000 kB\nMemFree: 1 kB\n",
    "proc/self/mounts": "nodev /mnt/huge\\040pages hugetlbfs rw 0 0\nproc /proc proc rw 0 0\n",
    "proc/self/cgroup": "0::/user/session\n",
    "sys/devices/system/cpu/online": "0-7",
    "sys/devices/system/cpu/isolated": "4-7",
    "sys/devices/system/cpu/nohz_full": "4-6",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,4",
    "sys/devices/system/cpu/cpu4/topology/thread_siblings_list": "0,4",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/node/node0/cpulist": "0-3",
    "sys/devices/system/node/node1/cpulist": "4-7",
    "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "4",
    "sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages": "1",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "512",
    "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "0",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "sys/fs/cgroup/user/cpu.max": "150000 100000",
    "sys/fs/cgroup/user/session/cpu.max": "max 100000",
    "sys/bus/pci/devices/0000:98:00.0/class": "0x020000",
    "sys/bus/pci/devices/0000:98:00.0/vendor": "0x15b3",
    "sys/bus/pci/devices/0000:98:00.0/device": "0x1021",
    "sys/bus/pci/devices/0000:98:00.0/numa_node": "-1",
    "sys/bus/pci/devices/0000:98:00.0/net/ens1/address": "",
    "sys/bus/pci/devices/0000:00:1f.0/class": "0x060100",
    "usr/lib64/pkgconfig/libdpdk.pc": "prefix=/usr\nName: DPDK\nVersion: 23.11.1\n",
    "usr/lib64/dpdk/pmds-24.0/librte_net_null.so.24.0": "",
    "usr/lib64/dpdk/pmds-24.0/librte_net_ring.so": "",
    "usr/lib64/dpdk/pmds-24.0/librte_bus_pci.so": "",
    "etc/os-release": 'NAME="X"\nPRETTY_NAME="Some Linux 12"\n',
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in BARE_METAL.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    driver = tmp_path / "sys/bus/pci/drivers/vfio-pci"
    driver.mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/0000:98:00.0/driver").symlink_to(driver)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 4})
    monkeypatch.delenv("PKG_CONFIG_PATH", raising=False)
    return tmp_path


def finding(findings: list[Finding], subject: str) -> Finding:
    return next(found for found in findings if found.subject == subject)


def test_cpus_are_read(root: Path) -> None:
    assert (
        cpus.read_cpus(root).model_dump().items()
        >= {
            "model": "Fast CPU",
            "online": list(range(8)),
            "allowed": [0, 1, 4],
            "isolated": [4, 5, 6, 7],
            "nohz_full": [4, 5, 6],
            "quota": 1.5,
            "governors": ["powersave"],
            "turbo": True,
            "tsc": {"constant": True, "nonstop": True, "clocksource": "tsc"},
            "virtual": False,
            "steal_percent": 0,
        }.items()
    )


def test_memory_is_read(root: Path) -> None:
    read = memory.read_memory(root)
    assert read.total_bytes == 65536000 * 1024
    pages = [(page.bytes, page.reserved, page.free) for page in read.hugepages.sizes]
    assert pages == [(2 << 20, 512, 0), (GIB, 4, 1)]
    assert (read.hugepages.reserved_bytes, read.hugepages.free_bytes) == (5 * GIB, GIB)
    assert read.hugepages.mounts == [memory.HugetlbfsMount(path="/mnt/huge pages", writable=False)]
    assert read.transparent == "always"


def test_dpdk_and_nics_are_read(root: Path) -> None:
    dpdk = read_dpdk(root)
    assert (dpdk.version, dpdk.drivers) == ("23.11.1", ["net_null", "net_ring"])
    (nic,) = read_nics(root)
    assert (nic.address, nic.device, nic.driver) == ("0000:98:00.0", "15b3:1021", "vfio-pci")
    assert nic.interfaces == ["ens1"] and nic.numa_node is None and nic.bound


def test_unreadable_facts_are_null_and_never_zero(tmp_path: Path) -> None:
    facts = collect(tmp_path)
    assert facts.cpus.allowed
    of_cpus = [getattr(facts.cpus, name) for name in ("model", "quota", "turbo", "tsc", "virtual", "steal_percent")]
    assert {*of_cpus, facts.memory.total_bytes, facts.memory.transparent, facts.dpdk.version} == {None}
    assert facts.memory.hugepages.sizes == []
    assert not facts.memory.hugepages.usable
    assert all(found.value for found in judge_cpus(facts.cpus) + judge_system(facts))


def test_facts_survive_the_json_round_trip(root: Path) -> None:
    facts = collect(root)
    assert facts.system == "Some Linux 12"
    assert Facts.model_validate_json(facts.model_dump_json()) == facts


def test_the_older_control_groups_are_read_too(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup/cpu/box"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text("50000\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:memory:/box\n2:cpu,cpuacct:/box\n")
    assert cpus.quota(tmp_path) == 0.5
    (group / "cpu.cfs_quota_us").write_text("-1\n")
    assert cpus.quota(tmp_path) is None


@pytest.mark.parametrize(
    ("written", "read"), [("0-3,8", [0, 1, 2, 3, 8]), ("", []), (None, []), ("(null)", []), ("5\n", [5])]
)
def test_cpu_lists(written: str | None, read: list[int]) -> None:
    assert cpu_list(written) == read


def test_spans_sizes_and_versions() -> None:
    assert [spans([8, 0, 1, 2]), spans([])] == ["0-2,8", ""] and cpu_list(spans([1, 3, 4])) == [1, 3, 4]
    assert [size(0), size(2 << 20), size(GIB * 3 // 2), size(3 << 40)] == ["0 B", "2 MiB", "1.5 GiB", "3072 GiB"]
    assert [version("22.11.11-0"), version("6.18-rc1"), version("odd")] == [(22, 11), (6, 18), (0, 0)]


def test_an_invalid_number_is_none(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("many")
    assert number(tmp_path / "words") is None
    assert number(tmp_path / "absent") is None


def test_hugepages_that_nobody_reserved_cannot_be_mapped() -> None:
    pool = memory.HugepageSize(bytes=2 << 20, reserved=0, free=0)
    assert memory.map_one([pool]) == Probe(works=False, reason="none reserved")
    assert memory.map_one([pool.model_copy(update={"reserved": 3})]) == Probe(works=False, reason="none free")


def test_a_page_that_the_pool_only_claims_to_have_is_refused_by_the_kernel() -> None:
    odd = memory.HugepageSize(bytes=1 << 45, reserved=1, free=1)
    probe = memory.map_one([odd])
    assert not probe.works
    assert probe.reason


def test_counters_count_or_state_a_reason() -> None:
    tried = counters.read_counters()
    assert set(tried) == {"cycles", "instructions", "cache-misses"}
    assert all(probe.works or probe.reason for probe in tried.values())


def test_counters_are_not_tried_on_an_unknown_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_events.platform, "machine", lambda: "pdp11")
    assert counters.count("cycles") == Probe(works=False, reason="not tried on pdp11")


def test_verdicts_on_a_bare_metal_machine(root: Path) -> None:
    facts = collect(root)
    found = judge_cpus(facts.cpus) + judge_system(facts)
    verdicts = {one.subject: one.verdict for one in found}
    expected = {
        "good": ["cores", "TSC", "machine", "DPDK", "NICs"],
        "fair": ["isolation", "SMT", "governor", "turbo", "transparent hugepages", "NUMA"],
        "bad": ["CPU quota", "drivers"],
    }
    for verdict, subjects in expected.items():
        assert {subject: verdicts[subject] for subject in subjects} == dict.fromkeys(subjects, verdict)
    assert "net_pcap" in finding(found, "drivers").value
    assert finding(found, "isolation").remedy == "taskset -c 0-7 windtunnel run scenarios/echo.toml"
    assert finding(found, "NUMA").remedy == "taskset -c 0-3 windtunnel run scenarios/echo.toml"


@pytest.mark.parametrize(
    ("changed", "subject", "verdict"),
    [
        ({"allowed": [0]}, "cores", "bad"),
        ({"allowed": [0, 1]}, "cores", "fair"),
        ({"allowed": [0, 1, 2]}, "cores", "good"),
        ({"tsc": cpus.Tsc(constant=True, nonstop=False, clocksource="hpet")}, "TSC", "bad"),
        ({"virtual": True, "steal_percent": 0.0}, "machine", "fair"),
        ({"virtual": True, "steal_percent": 2.0}, "machine", "bad"),
        ({"virtual": False, "steal_percent": 0.0}, "machine", "good"),
        ({"virtual": None, "steal_percent": None}, "machine", "unknown"),
    ],
)
def test_verdicts_on_cpus(root: Path, changed: dict, subject: str, verdict: str) -> None:
    """Fewer cores are worse; so are a clock that stops, and time that is stolen."""
    read = cpus.read_cpus(root).model_copy(update=changed)
    assert finding(judge_cpus(read), subject).verdict == verdict


def test_allowed_isolated_cores_are_good_and_a_ticking_one_is_named(root: Path) -> None:
    read = cpus.read_cpus(root).model_copy(update={"allowed": list(range(8))})
    found = finding(judge_cpus(read), "isolation")
    assert found.verdict == "good"
    assert "still ticks on 7" in found.meaning


@pytest.mark.parametrize(
    ("probe", "free", "writable", "verdict"),
    [
        (Probe(works=False, reason="none reserved"), 0, False, "fair"),
        (Probe(works=True), 10, True, "fair"),
        (Probe(works=True), 512, False, "fair"),
        (Probe(works=True), 512, True, "good"),
    ],
)
def test_hugepages_are_good_only_when_they_can_be_used(
    root: Path, probe: Probe, free: int, writable: bool, verdict: str
) -> None:
    facts = collect(root)
    huge = memory.Hugepages(
        sizes=[memory.HugepageSize(bytes=2 << 20, reserved=512, free=free)],
        mounts=[memory.HugetlbfsMount(path="/dev/hugepages", writable=writable)],
        mapping=probe,
    )
    read = facts.model_copy(update={"memory": facts.memory.model_copy(update={"hugepages": huge})})
    found = finding(judge_system(read), "hugepages")
    assert found.verdict == verdict
    assert (found.remedy is None) == (verdict == "good")


def test_missing_counters_are_never_shown_as_zero(root: Path) -> None:
    gone = dict.fromkeys(counters.EVENTS, Probe(works=False, reason="this processor or VM has no such counter"))
    found = finding(judge_system(collect(root).model_copy(update={"counters": gone})), "hardware counters")
    assert found.value == "not available: cycles, instructions, cache-misses (this processor or VM has no such counter)"
    assert found.remedy is None
    gone["cycles"] = Probe(works=False, reason=perf_events.reason_text(PermissionError(13, "refused")))
    found = finding(judge_system(collect(root).model_copy(update={"counters": gone})), "hardware counters")
    assert found.remedy == "sudo sysctl kernel.perf_event_paranoid=2"


def run_doctor(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(doctor_module.doctor)
    done = RUNNER.invoke(app, list(arguments), env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    engine = tmp_path / "windtunnel-engine"
    engine.write_text(f"#!/bin/sh\n{body}\n")
    engine.chmod(0o755)
    monkeypatch.setenv("WINDTUNNEL_ENGINE", str(engine))
    return engine


def test_doctor_shows_every_finding_and_each_remedy_on_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch, "echo windtunnel-engine 9.9")
    shown = run_doctor()
    document = json.loads(run_doctor("--json"))
    Facts.model_validate(document["facts"])
    findings = [Finding.model_validate(found) for found in document["findings"]]
    assert finding(findings, "engine").value.startswith("windtunnel-engine 9.9 (")
    for found in findings:
        assert found.subject in shown
        assert f"  {found.remedy}\n" in shown or not found.remedy


def test_beside_an_installed_engine_dpdk_is_not_missing(root: Path) -> None:
    facts = collect(root)
    facts = facts.model_copy(update={"dpdk": facts.dpdk.model_copy(update={"version": None})})
    for has_engine, verdict in ((False, "bad"), (True, "good")):
        assert finding(judge_system(facts, has_engine), "DPDK").verdict == verdict


@pytest.mark.parametrize("built", [True, False])
def test_an_engine_that_does_not_respond_or_is_not_built_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: bool
) -> None:
    def none() -> Path:
        raise UserError("the engine is not built", remedy=f"run {quickstart()}")

    fake_engine(tmp_path, monkeypatch, "echo librte_eal.so is gone >&2; exit 3")
    if not built:
        monkeypatch.setattr("windtunnel.engine.find.find_engine", none)
    found = doctor_module.judge_engine()
    assert (found.verdict, found.remedy) == ("bad", quickstart())
    assert not built or "librte_eal.so is gone" in found.value
