"""Copy engines: which ones a host has, and what keeps DPDK from each."""

import os
from pathlib import Path

import pytest

from windtunnel.host.copy_engines import read_copy_engines
from windtunnel.host.facts import collect
from windtunnel.host.judge_system import copy_engines

DSA, QUICKDATA = "0b25", "0b00"


def device(root: Path, address: str, number: str, driver: str | None = None, vendor: str = "0x8086") -> Path:
    place = root / "sys/bus/pci/devices" / address
    place.mkdir(parents=True)
    (place / "vendor").write_text(f"{vendor}\n")
    (place / "device").write_text(f"0x{number}\n")
    if driver:
        drivers = root / "sys/bus/pci/drivers" / driver
        drivers.mkdir(parents=True, exist_ok=True)
        (place / "driver").symlink_to(drivers)
    return place


def queue(root: Path, engine: Path, file: str = "wq0.0", node: bool = True, **changes: str) -> None:
    place = engine / "dsa0" / file
    place.mkdir(parents=True)
    for key, value in ({"name": "dpdk_one", "state": "enabled", "type": "user"} | changes).items():
        (place / key).write_text(f"{value}\n")
    if node:
        (root / "dev/dsa").mkdir(parents=True, exist_ok=True)
        (root / "dev/dsa" / file).touch()


def said(root: Path):
    return copy_engines(collect(root))


def test_a_host_without_one_has_the_software_engine(tmp_path, monkeypatch):
    device(tmp_path, "0000:00:01.0", DSA, vendor="0x1af4")
    assert read_copy_engines(tmp_path) == []
    for cpus, verdict in (({0, 1}, "good"), ({0}, "fair")):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cpus=cpus: cpus)
        assert said(tmp_path).verdict == verdict and "software engine" in said(tmp_path).meaning


@pytest.mark.parametrize(("number", "kind"), [(DSA, "idxd"), (QUICKDATA, "ioat"), ("6f2f", "ioat")])
def test_one_bound_to_vfio_is_ready(tmp_path, number, kind):
    device(tmp_path, "0000:6a:01.0", number, "vfio-pci")
    found = said(tmp_path)
    assert (found.verdict, found.value) == ("good", f"0000:6a:01.0 ({kind}, vfio-pci)")


@pytest.mark.parametrize(("number", "driver"), [(DSA, None), (QUICKDATA, "ioatdma")])
def test_another_driver_hinders(tmp_path, number, driver):
    device(tmp_path, "0000:6a:01.0", number, driver)
    found = said(tmp_path)
    assert found.verdict == "fair" and f"its driver is {driver or 'none'}" in found.value
    assert found.remedy == "sudo dpdk-devbind.py -b vfio-pci 0000:6a:01.0"


@pytest.mark.parametrize(
    ("changes", "words", "remedy"),
    [
        ({"state": "disabled"}, "wq0.0 is not enabled", "accel-config"),
        ({"type": "kernel"}, "wq0.0 is not of type user", "accel-config"),
        ({"name": "mine"}, 'wq0.0 is called "mine", DPDK takes names that begin with "dpdk_"', "accel-config"),
        ({"node": False}, "no permission to open /dev/dsa/wq0.0", "sudo chown $USER /dev/dsa/wq0.0"),
    ],
)
def test_a_queue_that_cannot_be_used_says_why(tmp_path, changes, words, remedy):
    queue(tmp_path, device(tmp_path, "0000:6a:01.0", DSA, "idxd"), **changes)
    found = said(tmp_path)
    assert found.verdict == "fair" and words in found.value and remedy in found.remedy


def test_one_queue_that_can_be_used_is_enough(tmp_path):
    engine = device(tmp_path, "0000:6a:01.0", DSA, "idxd")
    assert read_copy_engines(tmp_path)[0].hinders == ["no work queue is set up"]
    queue(tmp_path, engine, "wq0.0", state="disabled")
    queue(tmp_path, engine, "wq0.1")
    assert said(tmp_path).verdict == "good"
