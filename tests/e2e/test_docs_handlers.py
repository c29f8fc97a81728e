"""The handlers that the documentation shows: saved, built and run as a reader would, away from the checkout."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from printed_pages import blocks, save
from real_runs import messages, recorded, run_well
from study_tools import invoke

from windtunnel.part_registry import PARTS
from windtunnel.runs.summary import summarise

CHECKOUT = Path(__file__).resolve().parents[2]
SHORT = ("duration=200ms", "warmup=50ms", "window=100ms")
DMA = ("workload.0.copies.engine=dma", "workload.0.copies.timeout=1min")
"""Its thread may have no CPU for a second."""
PAGES = {"crc": "docs/tutorials/study-your-own-handler.md", "add": "docs/how-to/write-a-handler.md"}
RESPONSE, SEGMENT, HEADERS_BYTES = 0x12, 42 + 12, 14 + 20 + 8 + 16
"""The first byte of a response; where a message header has its segment; the bytes before a body."""
BUILD = re.compile(r"^cc .*$", re.MULTILINE)


@pytest.fixture(scope="module", params=PAGES)
def mine(request, tmp_path_factory):
    """A directory with what the page has the reader save and build; and the handler's name."""
    away, page = tmp_path_factory.mktemp(request.param), CHECKOUT / PAGES[request.param]
    shutil.copytree(CHECKOUT / "include", away / "include")
    files = [block for block in blocks(page) if block.file]
    for block in files:
        save(block, away)
    builds = BUILD.findall(page.read_text())
    assert len(builds) == sum(block.file.endswith(".c") for block in files), "a build line for each source"
    for build in builds:
        subprocess.run(build.split() + ["-Werror"], cwd=away, check=True)
    return away, request.param


of_the_tutorial = pytest.mark.parametrize("mine", ["crc"], indirect=True)
of_the_guide = pytest.mark.parametrize("mine", ["add"], indirect=True)


def test_the_example_handler_is_listed(mine):
    away, name = mine
    said = invoke("handlers", "--plugin", away / "mine" / f"lib{name}.so")
    assert name in said and "default" in said


def test_the_example_handler_responds_to_every_request(mine):
    away, name = mine
    run = run_well(away, away / "mine" / f"{name}.toml", *SHORT)
    assert messages(run).responses > 0
    assert run.record.question.endswith("?")


@of_the_guide
def test_the_example_that_forwards_sends_what_it_receives(mine, tmp_path):
    away, _ = mine
    run = run_well(tmp_path, away / "mine" / "swap.toml", *SHORT)
    (port,) = summarise(run).ports
    assert port.rx_mpps and port.tx_mpps == pytest.approx(port.rx_mpps, rel=0.1)
    (row,) = [row for row in summarise(run).stages if row.stage == "disp_rx"]
    assert row.drops == {}


@of_the_tutorial
def test_the_slowest_point_of_the_tutorial_is_work_and_not_interrupted(mine, tmp_path):
    away, _ = mine
    slowest = ("workload.0.options.method=bits", "workload.0.request=1024")
    run = run_well(tmp_path, away / "mine" / "crc.toml", *SHORT, *slowest)
    [row] = [row for row in summarise(run).stages if (row.endpoint, row.stage) == ("server", "app_rx")]
    assert row.work_ns is not None


@of_the_tutorial
def test_the_study_of_the_tutorial_has_points_for_both_methods(mine, monkeypatch):
    away, _ = mine
    monkeypatch.chdir(away)
    plan = json.loads(invoke("study", "mine/crc-sizes.toml", "--plan", "--json"))
    assert {point["factors"]["method"] for point in plan["points"]} == {"table", "bits"}
    assert len(plan["points"]) == 12
    assert os.path.exists("mine/libcrc.so")


@of_the_guide
@pytest.mark.skipif("copies" not in PARTS, reason="the example copies its responses")
@pytest.mark.parametrize("copies", [DMA, ("workload.0.copies.engine=cpu",), None])
def test_the_example_that_names_copies_responds_the_same_with_and_without_a_copier(mine, copies, tmp_path):
    away, _ = mine
    file = away / "mine" / "parts.toml"
    if copies is None:
        plain = file.with_name("plain.toml")
        plain.write_text(file.read_text().replace('[workload.copies]\nengine = "dma"\n', ""))
        file = plain
    run = run_well(tmp_path, file, *SHORT, *(copies or ()), "record=run.pcap", "client.rate=2kpps")
    table = bytes((i * 7 + i // 256) % 256 for i in range(8192))
    expected, body = (table[4096:] + table[:4096])[: 8192 - 16], 1500 - 28 - 16
    frames = [frame for frame in recorded(run) if frame[42] == RESPONSE]
    assert len(frames) > 100
    for frame in frames:
        begin = int.from_bytes(frame[SEGMENT : SEGMENT + 2], "big") * body
        assert frame[HEADERS_BYTES:] == expected[begin : begin + body]
    ledgers = [ledger for engine in run.record.engines for ledger in engine.result.copies]
    assert [ledger.endpoint for ledger in ledgers] == ([] if copies is None else ["server"])
