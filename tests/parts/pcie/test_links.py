"""The links of a host's NICs: what sysfs and the configuration space say, what `host doctor` makes of it, and that estimates of a run take it."""

from pathlib import Path

import pytest
import sample_lines as sample
import sample_runs
from hypothesis import given
from hypothesis import strategies as st
from in_process import run as typed

from windtunnel.host.facts import collect
from windtunnel.parts.pcie import facts as pcie_facts
from windtunnel.parts.pcie.facts import NicLink, links_of, read, recorded_link
from windtunnel.parts.pcie.findings import judge
from windtunnel.parts.pcie.run_estimate import ports_of

ADDRESS = "0000:17:00.0"
LINK = {
    "address": ADDRESS,
    "generation": 3,
    "lanes": 4,
    "most_generation": 4,
    "most_lanes": 16,
    "mps": 128,
    "mrrs": 4096,
}


def space(control=0x2810, capabilities=(0x01, 0x05, 0x10), length=256) -> bytes:
    """A configuration space with a list of capabilities, the last of which has this Device Control."""
    config = bytearray(256)
    config[0x06] = 0x10
    config[0x34] = 0x40 if capabilities else 0
    for number, capability in enumerate(capabilities):
        place = 0x40 + 0x20 * number
        config[place], config[place + 1] = capability, place + 0x20 if number + 1 < len(capabilities) else 0
        config[place + 8 : place + 10] = control.to_bytes(2, "little")
    return bytes(config)[:length]


def nic(root: Path, config=None, address=ADDRESS, kind="0x020000", **files) -> Path:
    device = root / "sys/bus/pci/devices" / address
    device.mkdir(parents=True)
    (device / "class").write_text(f"{kind}\n")
    speed = {
        "current_link_speed": "8.0 GT/s PCIe",
        "current_link_width": "8",
        "max_link_speed": "8.0 GT/s PCIe",
        "max_link_width": "8",
    }
    for name, value in (speed | files).items():
        if value is not None:
            (device / name).write_text(f"{value}\n")
    (device / "config").write_bytes(space() if config is None else config)
    return root


def link_below(root):
    (link,) = read(root)["pcie_links"]
    return link


def test_a_link_is_read_with_its_sizes(tmp_path):
    link = link_below(nic(tmp_path))
    assert link.known == {"generation": 3, "lanes": 8, "mps": 128, "mrrs": 512} and not link.is_below_most


@pytest.mark.parametrize(
    ("control", "sizes"),
    [
        (0x0000, (128, 128)),
        (0x5000 | 0x20, (256, 4096)),
        (0x50A0, (4096, 4096)),
        (0x70E0, (None, None)),
        (0x60C0, (None, None)),
    ],
)
def test_sizes_are_three_bits_each(tmp_path, control, sizes):
    link = link_below(nic(tmp_path, space(control)))
    assert (link.mps, link.mrrs) == sizes


@pytest.mark.parametrize(
    "config",
    [
        space(length=64),
        b"",
        space(capabilities=()),
        space(capabilities=(1, 5)),
        space()[:0x34] + b"\x42" + space()[0x35:0x41] + b"\x40" + space()[0x42:],
    ],
    ids=["64 bytes, as others than root see", "empty", "no list", "no such capability", "a circle"],
)
def test_sizes_that_cannot_be_read_are_not_known(tmp_path, config):
    link = link_below(nic(tmp_path, config))
    assert (link.generation, link.lanes, link.mps, link.mrrs) == (3, 8, None, None)


@given(config=st.binary(max_size=300), speed=st.text(max_size=12), width=st.text(max_size=6))
def test_whatever_a_device_says_nothing_fails(tmp_path_factory, config, speed, width):
    root = nic(
        tmp_path_factory.mktemp("root"),
        config,
        current_link_speed=speed.replace("\x00", ""),
        current_link_width=width.replace("\x00", ""),
    )
    assert all(
        value in (1, 2, 3, 4, 5, 8, 16, *(128 << n for n in range(6)))
        for link in read(root)["pcie_links"]
        for value in link.known.values()
    )


@pytest.mark.parametrize(("speed", "width"), [("Unknown", "0"), (None, None), ("2.5 GT/s", "255"), ("8", "8.0")])
def test_a_nic_without_a_link_that_is_up_has_no_lanes(tmp_path, speed, width):
    root = nic(tmp_path, b"", current_link_speed=speed, current_link_width=width)
    assert all(link.lanes is None for link in read(root)["pcie_links"])


def test_other_devices_have_no_row(tmp_path):
    assert read(nic(tmp_path, kind="0x010802")) == {"pcie_links": []}


def test_host_doctor_names_a_link_that_could_carry_more(tmp_path):
    nic(tmp_path, current_link_width="4", max_link_speed="16.0 GT/s PCIe", max_link_width="16")
    nic(tmp_path, address="0000:18:00.0")
    nic(tmp_path, b"", "0000:19:00.0")
    facts = collect(tmp_path)
    narrow, whole, of_a_user = judge(facts, True)
    assert [link.address for link in links_of(facts)] == [ADDRESS, "0000:18:00.0", "0000:19:00.0"]
    assert (narrow.verdict, narrow.value) == ("fair", "Gen3 x4, MPS 128, MRRS 512; the card has Gen4 x16")
    assert "it carries 31.5 Gb/s" in narrow.meaning and "it carries 252.1 Gb/s" in narrow.meaning
    assert ADDRESS in narrow.remedy
    assert (whole.verdict, whole.meaning) == ("good", "it carries 63.0 Gb/s in each direction")
    assert of_a_user.value == "Gen3 x8, MPS and MRRS can be read by root"


def on_nic():
    plan = sample.plan()
    ends = [
        end.model_copy(update={"port": end.port.model_copy(update={"traits": ["nic"], "options": {"pci": ADDRESS}})})
        for end in plan.endpoints
    ]
    return plan.model_copy(update={"endpoints": ends})


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"pcie_links": [LINK]}, "Gen3 x4, MPS 128, MRRS 4096"),
        ({"pcie_links": [LINK | {"mps": None}]}, "Gen3 x4, MPS 256, MRRS 4096"),
        ({"pcie_links": [LINK | {"address": "0000:18:00.0"}]}, "Gen3 x8, MPS 256, MRRS 512"),
        ({"pcie_links": "x"}, "Gen3 x8, MPS 256, MRRS 512"),
        ({"pcie_links": [3, {"address": ADDRESS}]}, "Gen3 x8, MPS 256, MRRS 512"),
        ({}, "Gen3 x8, MPS 256, MRRS 512"),
    ],
)
def test_an_estimate_on_a_nic_takes_the_link_that_the_host_had(tmp_path, host, words):
    run = sample_runs.execute(tmp_path / "run", [on_nic()], ["windtunnel"])
    run.record.host.update(host)
    assert {port.link.words for port in ports_of(run, link={})} == {words}
    assert ports_of(run, link={"lanes": 1})[0].link.lanes == 1 and ports_of(run, "ixgbe")[0].link.mps == 256


def test_what_a_record_says_of_another_nic_is_not_its_link():
    assert recorded_link({"pcie_links": [LINK]}, None) is None
    assert recorded_link({"pcie_links": [LINK]}, ADDRESS) == NicLink(**LINK)


def test_a_command_takes_the_link_of_a_device(tmp_path, monkeypatch):
    links = {"pcie_links": [NicLink(**LINK)]}
    monkeypatch.setattr(pcie_facts, "read", lambda root: links)
    done = typed("pcie", "estimate", "--pps", "10M", "--device", ADDRESS, "--mps", "512")
    assert done.exit_code == 0 and "Gen3 x4, MPS 512, MRRS 4096" in done.stdout, done.stderr
    refused = typed("pcie", "estimate", "--pps", "10M", "--device", "0000:99:00.0")
    assert "no NIC 0000:99:00.0 with a PCIe link" in refused.exception.message
    assert refused.exception.remedy == ADDRESS
