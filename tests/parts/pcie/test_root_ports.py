"""Bytes of each root port, as `pcm-iio -csv -root-port` and `perf iostat` have them, and the NIC that is below it."""

import pytest
import sample_lines as sample
from in_process import run as typed
from sample_runs import execute
from test_links import ADDRESS, nic

from windtunnel.errors import UserError
from windtunnel.parts.pcie import facts as pcie_facts
from windtunnel.parts.pcie.facts import read
from windtunnel.parts.pcie.measured import FILE, RootPort, read_measured
from windtunnel.results.run.as_json import run_json
from windtunnel.runs import monitor
from windtunnel.runs.monitor import Kept

HEAD = "Socket,Root Port,Name,Part,IB write,IB read,OB read,OB write,IOTLB Lookup,IOTLB Miss\n"
SAMPLE = (
    "Socket0,16:02.0,IIO Stack 1 - PCIe0,Part0 (1st x16/x8/x4),1280000000,640000000,0,11200000,900,45\n"
    "Socket0,        ,IIO Stack 1 - PCIe0,Part1 (2nd x4),0,0,0,0\n"
    "Socket1,97:00.0,IIO Stack 3 - PCIe2,Part0 (1st x16/x8/x4),4000000,2000000,8,16,0,0\n"
)
IOSTAT = (
    "   port             Inbound Read(MB)    Inbound Write(MB)    Outbound Read(MB)   Outbound Write(MB)\n"
    "0000:16                      6400                12800                    0                  112\n"
    "0000:97                        20                   40                    0                    0\n"
    "      10.000000000 seconds time elapsed\n"
)


def of_text(tmp_path, text):
    (tmp_path / "text").write_text(text)
    return read_measured(tmp_path / "text")


def test_pcm_iio_gives_each_port_and_their_sum(tmp_path):
    found = of_text(tmp_path, f" Intel(r) PCM\n{HEAD}{SAMPLE}")
    assert found.tool == "pcm-iio"
    assert (found.inbound_read, found.inbound_write) == (642e6, 1284e6)
    assert (found.outbound_read, found.outbound_write) == (8, 11_200_016)
    assert found.ports == (RootPort("16:02.0", 640e6, 1280e6, 0, 11.2e6), RootPort("97:00.0", 2e6, 4e6, 8, 16))


def test_samples_are_averaged_because_pcm_scales_each_to_a_second(tmp_path):
    halved = SAMPLE.replace("1280000000", "0").replace("4000000,", "0,")
    assert of_text(tmp_path, HEAD + SAMPLE + HEAD + halved).inbound_write == 642e6


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (HEAD.replace("Root Port,", "") + "Socket0,IIO Stack 1,Part0,4,3,2,1,9,9\n", "Socket0 IIO Stack 1 Part0"),
        ("Date,Time," + HEAD + "2026-11-29,10:00:00.000,Socket0,16:02.0,IIO Stack 1,Part0,4,3,2,1,9,9\n", "16:02.0"),
        (HEAD.replace("IB write,IB read,OB read,OB write", "IB write (bytes),IB read (bytes),OB read (bytes),OB write (bytes)")
         + "Socket0,16:02.0,IIO Stack 1,Part0,4,3,2,1,9,9\n", "16:02.0"),
    ],
)  # fmt: skip
def test_the_forms_of_its_versions_are_read(tmp_path, text, name):
    assert of_text(tmp_path, text).ports == (RootPort(name, 3, 4, 2, 1),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "Socket0,16:02.0,IIO Stack 1,Part0,x,3,2,1\n", ':2: IB write: "x" is not a count'),
        (HEAD + "Socket0,16:02.0,IIO Stack 1,Part0,4,3\n", ":2: Socket0 IIO Stack 1 Part0 has no OB read"),
        (HEAD + "Socket0,16:02.0,IIO Stack 1,Part0,4,3,2,1,9,9,7\n", ":2: 11 cells in a table of 10"),
        (HEAD, "no stack follows the head"),
    ],
)
def test_a_damaged_text_is_refused_with_its_line(tmp_path, text, words):
    with pytest.raises(UserError) as refused:
        of_text(tmp_path, text)
    assert words in refused.value.message and refused.value.remedy


def test_a_text_of_the_runs_monitor_stands_beside_its_estimate(tmp_path):
    run = execute(tmp_path / "run", [sample.plan()], ["windtunnel"])
    kept = Kept(metric="iio", tool="x", file="monitor-x.csv", command=[], begins_s=0, seconds=1, exit_code=0, error="")
    cut = kept.model_copy(update={"file": "monitor-cut.csv"})
    (run.path / monitor.FILE).write_text("".join(line.model_dump_json() + "\n" for line in (cut, kept)))
    (run.path / cut.file).write_text(HEAD)
    (run.path / kept.file).write_text(HEAD + SAMPLE)
    assert run_json(run)["pcie"]["measured"]["ports"][0]["name"] == "16:02.0"
    (run.path / FILE).write_text(IOSTAT)
    assert run_json(run)["pcie"]["measured"]["tool"] == "perf iostat", "what the user saved comes first"


def test_perf_iostat_gives_each_root_bus(tmp_path):
    assert [port.name for port in of_text(tmp_path, IOSTAT).ports] == ["0000:16", "0000:97"]
    assert of_text(tmp_path, IOSTAT).ports[1].inbound_write == 4e6


def below_a_bridge(root):
    """A NIC whose directory is a link into the tree of devices, as in sysfs."""
    nic(root)
    device = root / "sys/bus/pci/devices" / ADDRESS
    tree = root / "sys/devices/pci0000:16/0000:16:02.0"
    tree.mkdir(parents=True)
    device.rename(tree / ADDRESS)
    device.symlink_to(tree / ADDRESS)
    return root


def test_sysfs_says_what_is_above_a_nic(tmp_path):
    (link,) = read(below_a_bridge(tmp_path))["pcie_links"]
    assert link.upstream == ("0000:16", "0000:16:02.0")
    assert RootPort("0000:16", 0, 0, 0, 0).is_above(link.upstream)
    assert RootPort("16:02.0", 0, 0, 0, 0).is_above(link.upstream)
    assert not RootPort("16:03.0", 0, 0, 0, 0).is_above(link.upstream)


@pytest.mark.parametrize(("text", "port"), [(HEAD + SAMPLE, "16:02.0"), (IOSTAT, "0000:16")])
def test_the_port_above_a_nic_is_marked(tmp_path, monkeypatch, text, port):
    links = read(below_a_bridge(tmp_path / "host"))
    monkeypatch.setattr(pcie_facts, "read", lambda root: links)
    (tmp_path / "text").write_text(text)
    asked = ("--pps", "10M", "--burst", "4", "--device", ADDRESS, "--measured", tmp_path / "text")
    lines = typed("pcie", "estimate", *asked).stdout.splitlines()
    (marked,) = [line for line in lines if line.strip().startswith(port)]
    (other,) = [line for line in lines if line.strip().startswith(("97:00.0", "0000:97"))]
    assert marked.split()[1:4] == ["asked", "640.00", "1,280.00"] and "asked" not in other
