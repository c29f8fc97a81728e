"""Where a run stands among the earlier runs beside it."""

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from shutil import rmtree

import sample_lines as sample
from comparing import HOST, NOON, SCENARIO, change, in_state, made
from terminal_views import printed

from windtunnel.measure import earlier as earlier_runs
from windtunnel.measure.earlier import MOST, earlier, line
from windtunnel.results.page.renderer import render
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.runs import load
from windtunnel.runs.validity import STEADY, Check, Settled


def settled(mean, what="responses_per_s", **changes):
    return Settled(what=what, settled=True, after_ns=0, windows=12, mean=mean, half_width=0.01).model_copy(
        update=changes
    )


def ran(directory, mean, minute, state="one-l3", what="responses_per_s", took_s=10, **about):
    """A run that began so many minutes after noon and settled on `mean`."""
    level = settled(mean, what, **about.pop("level", {}))
    made(directory, at_s=60 * minute, **about)
    steady = Check(name=STEADY, state="good", words="stayed on one level")
    validity = in_state(state).model_copy(update={"settled": level, "checks": [steady]})
    change(
        directory,
        validity=validity.model_dump(mode="json"),
        finished=(NOON + timedelta(minutes=minute, seconds=took_s)).isoformat(),
    )
    os.utime(directory / "run.json", (60 * minute + took_s,) * 2)
    return directory


def history(directory, *means, **about):
    """These runs, one a minute."""
    for n, mean in enumerate(means):
        ran(directory / f"r{n}", mean, n, **about)


def placed(directory, mean, minute=500, **about):
    return earlier(load(ran(directory / "this", mean, minute, **about)))


def test_giants_among_the_earlier_ones_are_not_read(tmp_path, monkeypatch):
    history(tmp_path, 20e6, 21e6, 22e6, 23e6)
    size = (tmp_path / "r0/run.json").stat().st_size
    change(tmp_path / "r1", title="t" * (size + 1000))
    os.utime(tmp_path / "r1/run.json", (70, 70))
    monkeypatch.setattr(earlier_runs, "MOST_BYTES", size + 1000)
    assert placed(tmp_path, 23.5e6).values == [23e6, 22e6, 20e6]
    monkeypatch.setattr(earlier_runs, "MOST_BYTES_IN_ALL", 2 * size + 1000)
    assert earlier(load(tmp_path / "this")).values == [23e6, 22e6]


def test_hidden_directories_have_no_earlier_runs(tmp_path):
    history(tmp_path, 20e6, 21e6)
    (tmp_path / "r0").rename(tmp_path / ".r0")
    assert placed(tmp_path, 23.5e6).values == [21e6]


def test_a_run_is_placed_among_the_earlier_ones(tmp_path):
    renamed = SCENARIO | {"seed": 7, "title": "another"}
    history(tmp_path, *(float(n) * 1e6 for n in (20, 21, 22, 23, 24, 25, 26)), scenario=renamed)
    found = placed(tmp_path, 23.5e6)
    assert found.values == [float(n) * 1e6 for n in (26, 25, 24, 23, 22, 21, 20)]  # the newest first
    assert (found.median, found.low, found.high, found.place) == (23e6, 20e6, 26e6, 4)
    assert line(found) == (
        "earlier: 7 runs here on one L3, the response rate 23.0 M/s in their median [20.0 M/s .. 26.0 M/s]; "
        "this one, 23.5 M/s, is the 4th fastest of 8"
    )
    for number, words in ((1, ""), (2, "2nd "), (3, "3rd "), (11, "11th "), (12, "12th "), (21, "21st ")):
        assert line(replace(found, values=found.values * 3, place=number)).endswith(f"is the {words}fastest of 22")


def test_a_run_outside_of_them_says_so(tmp_path):
    history(tmp_path, 20e6, 21e6, 22e6)
    assert line(placed(tmp_path, 19e6)).endswith("is below all of them: the least is 20.0 M/s")
    assert earlier(load(tmp_path / "r1")).values == [20e6]  # the later ones are not counted
    assert earlier(load(tmp_path / "r0")) is None
    rmtree(tmp_path / "this")
    assert line(placed(tmp_path, 23e6)).endswith("is above all of them: the greatest is 22.0 M/s")


def test_the_shortest_latency_is_the_best(tmp_path):
    history(tmp_path, 20e3, 21e3, 22e3, what="p50_ns")
    found = placed(tmp_path, 20.5e3, what="p50_ns")
    assert found.place == 2
    assert line(found).endswith(
        "the median latency 21.0 µs in their median; this one, 20.5 µs, is the 2nd shortest of 4"
    )


def test_of_fewer_than_three_the_values_stand_alone(tmp_path):
    assert placed(tmp_path / "none", 20e6) is None
    history(tmp_path, 20e6, 21e6)
    found = placed(tmp_path, 20.5e6)
    assert (found.median, found.low, found.high, found.place) == (None, None, None, None)
    assert line(found) == "earlier: 2 runs here on one L3, the response rate 21.0 M/s and 20.0 M/s; this one: 20.5 M/s"


OTHERS = (
    {"scenario": SCENARIO | {"server": {"batch": {"app_rx": 4}}}},
    {"host": HOST | {"hostname": "there"}},
    {"host": HOST | {"kernel": "6.2"}},
    {"versions": {"engine": "0.0.9", "dpdk": "DPDK 22.11.7"}},
    {"state": "two-l3s"},
    {"state": "one-l3, sibling busy"},
    {"what": "p50_ns"},
    {"invalid": "ledger open"},
    {"took_s": 3600 * 24},  # at the same time as this one
)


def test_what_is_not_the_same_is_not_counted(tmp_path):
    history(tmp_path, 20e6, 21e6, 22e6)
    for n, other in enumerate(OTHERS):
        ran(tmp_path / f"other{n}", 5e6 + n, 100, **other)
        os.utime(tmp_path / f"other{n}" / "run.json", (6000,) * 2)
    assert placed(tmp_path, 21.5e6).values == [22e6, 21e6, 20e6]


def test_without_known_states_all_are_alike_and_a_known_one_is_not(tmp_path):
    for n in range(3):
        change(ran(tmp_path / f"r{n}", 20e6 + n, n), validity=unprobed(20e6 + n))
        os.utime(tmp_path / f"r{n}" / "run.json", (60 * n,) * 2)
    ran(tmp_path / "known", 9e6, 10)
    this = ran(tmp_path / "this", 21e6, 500)
    assert earlier(load(this)).values == [9e6]
    change(this, validity=unprobed(21e6))
    assert earlier(load(this)) is None  # it may have been in any state
    (tmp_path / "known" / "run.json").unlink()
    found = earlier(load(this))
    assert found.state is None and len(found.values) == 3 and line(found).startswith("earlier: 3 runs here, the")


def unprobed(mean):
    document = in_state("one-l3").model_dump(mode="json")
    return document | {"states": [], "headline": None, "settled": settled(mean).model_dump(mode="json")}


def test_other_builds_are_counted_and_named(tmp_path):
    ran(tmp_path / "old", 20e6, 0, build="1" * 40)
    history(tmp_path, 21e6, 22e6, build="2" * 40)
    found = placed(tmp_path, 23e6, build="2" * 40)
    assert found.other_builds == 1
    assert line(found).startswith("earlier: 3 runs here on one L3, 1 of them by another build of the engine, the")


def test_the_newest_fifty_directories_are_read(tmp_path):
    history(tmp_path, *(float(n) for n in range(1, MOST + 6)))
    found = placed(tmp_path, 100.0)
    assert found.values == [float(n) for n in range(MOST + 5, 5, -1)]
    assert earlier(load(tmp_path / "r2")).values == [2.0, 1.0], "an old run has its own"
    os.utime(ran(tmp_path / "other", 1.0, 499, scenario={"title": "x"}) / "run.json", (60 * 499,) * 2)
    assert len(earlier(load(tmp_path / "this")).values) == MOST - 1  # whatever they are of


def test_what_cannot_be_read_is_no_earlier_run(tmp_path):
    history(tmp_path, 20e6, 21e6)
    this = ran(tmp_path / "this", 21.5e6, 500)
    texts = ["", "{", "[]", "\x00", "[" * 100_000, '{"version": 5}', '{"version": 99}', '{"version": 3}']
    for name in [*(f"damaged{n}" for n in range(len(texts))), "directory", "nowhere", "pipe"]:
        (tmp_path / name).mkdir()
    for n, text in enumerate(texts):
        (tmp_path / f"damaged{n}" / "run.json").write_text(text)
    (tmp_path / "directory" / "run.json").mkdir()
    (tmp_path / "nowhere" / "run.json").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe" / "run.json")  # reading it would wait for ever
    (tmp_path / "file").write_text("")
    change(ran(tmp_path / "unfinished", 5e6, 50), finished=None)
    for path in tmp_path.glob("*/run.json"):
        if path.parent.name != "this" and path.exists():
            os.utime(path, (60,) * 2)
    assert sorted(earlier(load(this)).values) == [20e6, 21e6]


def test_an_invalid_run_is_not_placed_and_an_unsettled_one_is(tmp_path):
    history(tmp_path, 20e6, 21e6, 22e6)
    assert earlier(load(ran(tmp_path / "a", 21e6, 100, invalid="ledger open"))) is None
    assert earlier(load(ran(tmp_path / "b", 21e6, 101, level={"settled": False}))).values == [22e6, 21e6, 20e6]
    assert earlier(load(made(tmp_path / "c", at_s=6200))) is None


def test_a_relative_path_has_the_same_neighbours(tmp_path, monkeypatch):
    history(tmp_path, 20e6)
    ran(tmp_path / "this", 21e6, 500)
    monkeypatch.chdir(tmp_path / "this")
    assert earlier(load(Path("."))).values == [20e6]


def test_terminal_report_and_json_say_it(tmp_path):
    history(tmp_path, 20e6, 21e6, 22e6)
    run = load(ran(tmp_path / "this", 21.5e6, 500))
    before = run.path.joinpath("run.json").read_bytes()
    found = earlier(run)
    document = run_document(run, found)
    assert line(found) in printed(document, 200) and line(found) in render(document)
    assert json.loads(json.dumps(run_json(run, found)))["earlier"]["place"] == 2
    assert run_json(run)["earlier"] is None and run_json(run)["verdict"]["valid"] is True
    assert run.path.joinpath("run.json").read_bytes() == before


def test_a_run_without_a_client_has_a_packet_rate(tmp_path):
    history(tmp_path, 3e6, what="packets_per_s", plan=sample.plan(("server",)))
    found = placed(tmp_path, 4e6, what="packets_per_s", plan=sample.plan(("server",)))
    assert "the packet rate 3.00 M/s; this one: 4.00 M/s" in line(found)


def test_a_run_with_variants_is_no_earlier_run_and_has_none(tmp_path):
    history(tmp_path, 20e6, 21e6)
    row = {"name": "as it is", "measured": 9, "windows": 9} | dict.fromkeys(
        ("ns_per_message", "responses_per_s", "delay_ns", "p50", "p99")
    )
    change(tmp_path / "r0", variants=[row])
    assert placed(tmp_path, 22e6).values == [21e6]
    change(tmp_path / "this", variants=[row])
    assert earlier(load(tmp_path / "this")) is None
