"""Findings about Intel DSA: a host below a directory with devices, queues, kernel options, IOMMU and pages of 1 GiB. Not tried on hardware."""

import gzip
import json
import platform

import pytest
from in_process import run

from windtunnel.errors import UserError
from windtunnel.host.facts import collect
from windtunnel.host.judge_system import copy_engines
from windtunnel.parts.copies.facts import NEEDED, OPTIONAL, kernel_options, read_dsa_host
from windtunnel.parts.copies.findings import judge, judge_if_asked

ADDRESS = "0000:6a:01.0"
DEDICATED = (
    "sudo accel-config config-engine dsa0/engine0.0 --group-id=0 && "
    "sudo accel-config config-engine dsa0/engine0.1 --group-id=0 && "
    "sudo accel-config config-engine dsa0/engine0.2 --group-id=0 && "
    "sudo accel-config config-engine dsa0/engine0.3 --group-id=0 && "
    "sudo accel-config config-wq dsa0/wq0.0 --group-id=0 --mode=dedicated --wq-size=128 --priority=10 --type=user "
    "--name=dpdk_one && sudo accel-config enable-device dsa0 && sudo accel-config enable-wq dsa0/wq0.0"
)
SHARED = DEDICATED.replace("dedicated", "shared").replace("type=user ", "type=user --threshold=127 ")
SHARED = SHARED.replace("dpdk_one", "shared_one")


def write(root, files):
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{content}\n")


def dsa(root, groups=(-1, -1, -1, -1), state="disabled", pasid=1, driver="idxd"):
    """A device as the kernel's driver idxd shows it; `groups`: of the engines. No queue is set up."""
    pci = f"sys/bus/pci/devices/{ADDRESS}"
    write(root, {f"{pci}/vendor": "0x8086", f"{pci}/device": "0x0b25", f"{pci}/iommu_group/type": "DMA-FQ"})
    (root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True)
    (root / pci / "driver").symlink_to(root / f"sys/bus/pci/drivers/{driver}")
    if driver != "idxd":
        return
    write(root, {f"{pci}/dsa0/state": state, f"{pci}/dsa0/pasid_enabled": pasid})
    write(root, {f"{pci}/dsa0/max_work_queues_size": 128})
    write(root, {f"{pci}/dsa0/engine0.{number}/group_id": group for number, group in enumerate(groups)})
    write(root, {f"{pci}/dsa0/group0.{number}/engines": "" for number in range(4)})
    queue(root, state="disabled", size=0, type="none", mode="dedicated", group_id=-1, name="")


def queue(root, **changes):
    as_set_up = {
        "state": "enabled",
        "size": 128,
        "type": "user",
        "mode": "dedicated",
        "group_id": 0,
        "name": "dpdk_one",
    }
    place = f"sys/bus/pci/devices/{ADDRESS}/dsa0/wq0.0"
    write(root, {f"{place}/{key}": value for key, value in (as_set_up | changes).items()})
    write(root, {"dev/dsa/wq0.0": ""})


def platform_of_dsa(root, options=(*NEEDED, *OPTIONAL), flags="fpu enqcmd", ecap=1 << 43, pages=(4, 4)):
    write(root, {"proc/cpuinfo": f"processor\t: 0\nflags\t\t: {flags}"})
    write(root, {"boot/config-" + platform.release(): "\n".join(f"CONFIG_{name}=y" for name in options)})
    write(root, {"sys/class/iommu/dmar0/intel-iommu/ecap": f"{ecap:x}"})
    for node, count in enumerate(pages):
        pool = f"sys/devices/system/node/node{node}/hugepages/hugepages-1048576kB"
        write(root, {f"{pool}/nr_hugepages": count, f"{pool}/free_hugepages": count})


def findings(root):
    return {finding.subject: finding for finding in judge(collect(root), has_engine=True)}


def test_a_host_without_dsa_has_no_finding_unless_it_is_asked_for(tmp_path):
    platform_of_dsa(tmp_path)
    facts = collect(tmp_path)
    assert judge(facts, True) == []
    assert [finding.subject for finding in judge_if_asked(facts)][:2] == ["DSA", "ENQCMD"]


def test_a_device_as_in_the_guide_is_good_and_wants_nothing(tmp_path):
    platform_of_dsa(tmp_path)
    dsa(tmp_path, groups=(0, 0, 0, 0), state="enabled")
    queue(tmp_path)
    found = findings(tmp_path)
    assert {finding.verdict for finding in found.values()} == {"good"}
    assert {finding.remedy for finding in found.values()} == {None}
    assert found["DSA dsa0"].value == (
        "enabled, 4 engines, 4 groups; wq0.0 dedicated, 128 entries, group 0 with 4 engines, enabled, for programs"
    )
    assert copy_engines(collect(tmp_path)).verdict == "good"
    assert judge_if_asked(collect(tmp_path)) == []


def test_a_device_that_is_not_set_up_gets_the_commands_of_both_modes(tmp_path):
    platform_of_dsa(tmp_path)
    dsa(tmp_path)
    found = findings(tmp_path)
    device = found["DSA dsa0"]
    assert (device.verdict, device.value) == ("fair", "disabled, 4 engines, 4 groups; no queue is set up")
    assert device.remedy == DEDICATED == copy_engines(collect(tmp_path)).remedy
    assert found["ENQCMD"].remedy == SHARED


def test_a_kernel_whose_queues_name_their_driver_gets_its_name(tmp_path):
    dsa(tmp_path)
    write(tmp_path, {f"sys/bus/pci/devices/{ADDRESS}/dsa0/wq0.0/driver_name": ""})
    assert "--name=dpdk_one --driver-name=user &&" in findings(tmp_path)["DSA dsa0"].remedy


def test_a_queue_with_a_part_of_the_engines_is_fair_and_the_device_is_disabled_first(tmp_path):
    dsa(tmp_path, groups=(0, 1, -1, 1), state="enabled")
    queue(tmp_path, group_id=1)
    device = findings(tmp_path)["DSA dsa0"]
    assert device.verdict == "fair" and "a queue has 2 of 4 engines" in device.meaning
    assert device.remedy == f"sudo accel-config disable-device dsa0 && {DEDICATED}"


def test_a_shared_queue_is_none_for_dpdk(tmp_path):
    platform_of_dsa(tmp_path)
    dsa(tmp_path, groups=(0, 0, 0, 0), state="enabled")
    queue(tmp_path, mode="shared")
    assert findings(tmp_path)["DSA dsa0"].verdict == "good"
    engines = copy_engines(collect(tmp_path))
    assert engines.verdict == "fair" and "wq0.0 is shared, DPDK's driver takes dedicated queues" in engines.value


@pytest.mark.parametrize(("driver", "verdict"), [("vfio-pci", "good"), ("other", "fair")])
def test_a_device_that_the_driver_idxd_does_not_have(tmp_path, driver, verdict):
    dsa(tmp_path, driver=driver)
    found = findings(tmp_path)
    assert found[f"DSA {ADDRESS}"].verdict == verdict
    assert found["IOMMU"].value == "off, or none"


def test_kernel_options_are_those_of_the_running_kernel(tmp_path):
    assert kernel_options(tmp_path, "6.1") is None
    write(tmp_path, {"boot/config-6.1": "# CONFIG_PCI_PRI is not set\nCONFIG_INTEL_IDXD=m\nCONFIG_EXT4_FS=y"})
    assert kernel_options(tmp_path, "6.1") == {"INTEL_IDXD": "m"}
    assert kernel_options(tmp_path, "6.2") is None
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_PCI_PASID=y\n"))
    assert kernel_options(tmp_path, "6.1") == {"PCI_PASID": "y"}
    (tmp_path / "proc/config.gz").write_bytes(b"no gzip")
    assert kernel_options(tmp_path, "6.1") == {"INTEL_IDXD": "m"}
    assert len({*NEEDED, *OPTIONAL}) == 16


def test_a_needed_option_that_is_missing_is_named_with_its_command(tmp_path):
    dsa(tmp_path)
    platform_of_dsa(tmp_path, options=[name for name in NEEDED if name not in ("INTEL_IDXD", "PCI_PRI")])
    found = findings(tmp_path)["kernel options for DSA"]
    assert found.verdict == "fair" and found.value.startswith("missing: INTEL_IDXD, PCI_PRI; off: ")
    assert found.remedy.startswith("scripts/config --module INTEL_IDXD --enable PCI_PRI && make olddefconfig")


@pytest.mark.parametrize(
    ("ecap", "pasid", "verdict", "value"),
    [
        (1 << 43, 1, "good", "on (dmar0), scalable mode; the device's domain is DMA-FQ; PASIDs on"),
        (1 << 43, 0, "fair", "on (dmar0), scalable mode; the device's domain is DMA-FQ; PASIDs off"),
        (1 << 42, 0, "fair", "on (dmar0), no scalable mode; the device's domain is DMA-FQ; PASIDs off"),
    ],
)
def test_the_mode_of_the_iommu_decides(tmp_path, ecap, pasid, verdict, value):
    dsa(tmp_path, pasid=pasid)
    platform_of_dsa(tmp_path, ecap=ecap)
    found = findings(tmp_path)["IOMMU"]
    assert (found.verdict, found.value) == (verdict, value)
    assert ("intel_iommu=on,sm_on" in (found.remedy or "")) == (verdict == "fair")


def test_pages_of_1_gib_are_looked_at_on_each_node(tmp_path):
    dsa(tmp_path)
    platform_of_dsa(tmp_path, pages=(4, 1))
    found = findings(tmp_path)["pages of 1 GiB"]
    assert (found.verdict, found.value) == ("fair", "node 0: 4 reserved, 4 free; node 1: 1 reserved, 1 free")
    assert "tee /sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages &&" in found.remedy


def test_what_cannot_be_read_is_not_known(tmp_path):
    dsa(tmp_path)
    found = findings(tmp_path)
    assert {found[subject].verdict for subject in ("ENQCMD", "kernel options for DSA")} == {"unknown"}
    write(tmp_path, {"sys/class/iommu/dmar0/intel-iommu/ecap": "no number"})
    assert read_dsa_host(tmp_path).scalable is None


def test_the_doctor_is_asked_for_it():
    shown = json.loads(run("host", "doctor", "--for", "copies", "--json").output)
    assert {"ENQCMD", "IOMMU", "pages of 1 GiB"} <= {finding["subject"] for finding in shown["findings"]}
    refused = run("host", "doctor", "--for", "copy")
    assert isinstance(refused.exception, UserError) and "--for copy:" in refused.exception.message
    assert refused.exception.remedy == "one of copies"
