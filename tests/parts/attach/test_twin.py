"""Twins of applications whose costs are known."""

import tomllib
from types import SimpleNamespace

import pytest
from observed_samples import TSC_HZ, busy_windows, channel, port, turns, window

from windtunnel.errors import UserError
from windtunnel.exchange.toml_text import text_of
from windtunnel.parts.attach import twin as twins
from windtunnel.parts.attach.observed_run import ObservedRunWriter
from windtunnel.parts.attach.processes import Application
from windtunnel.parts.attach.twin import BurstPrice, emulation_line, twin_of
from windtunnel.parts.attach.twin_document import twin_document
from windtunnel.results.markdown import render

BROKER = Application(pid=77, command=("/opt/broker\n",), release="22.11", prefix="rte", runtime=None)
VARIED = {0: 0.4, 4: 0.2, 8: 0.1, 16: 0.1, 32: 0.2}


@pytest.fixture
def observed(tmp_path):
    def of(windows):
        writer = ObservedRunWriter(tmp_path / "run", BROKER, "22.11")
        for line in windows:
            writer.append(line)
        return writer.finish([], TSC_HZ)

    return of


@pytest.fixture
def emulation(monkeypatch):
    """An emulation that takes 40 ns a burst and 5 ns a packet."""
    monkeypatch.setattr(twins, "_emulation_ns", lambda _frame, burst: 40 / burst + 5)


def test_turns_that_took_no_time_have_no_twin(observed, emulation, tmp_path):
    """Nobody has measured them, but a directory that was sent may say so; their rate would be divided by zero."""
    timed = turns(dict.fromkeys((4, 8, 32), 9), burst=0, packet=0, driver=0)
    with pytest.raises(UserError, match="no thread has timed turns"):
        twin_document(twin_of(observed([window(n, [channel({32: 9}, timed)]) for n in range(8)])), tmp_path, None)


def test_a_scenario_of_it_is_made_in_no_directory_of_another_user(tmp_path, monkeypatch):
    """Who owns the TMPDIR that `su` keeps could put a scenario of theirs, and so a program, in its place."""
    (tmp_path / "theirs").mkdir(mode=0o777)
    (tmp_path / "theirs").chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "theirs"))
    places = []
    monkeypatch.setattr(twins, "run_rate", lambda _text, directory: places.append(directory) or 1e9)
    twins._emulation_ns(60, 32)
    assert places and not places[0].is_relative_to(tmp_path)


def test_what_has_taken_the_place_of_its_file_is_not_run(tmp_path, monkeypatch):
    """Who owns the directory in which it was written may put another scenario there, and so a program, before it runs."""
    ran = []
    monkeypatch.setattr(twins, "execute", lambda spec, *_: ran.append(spec) or SimpleNamespace(kept_run=lambda: None))
    monkeypatch.setattr(twins, "resolve", lambda scenario, _: scenario)
    file = tmp_path / "twin.toml"
    text = text_of(
        "?", [], twins.scenario_of(60, 32, [BurstPrice(1.0, 1.0)], TSC_HZ, twins.PHASES) | {"title": "of ours"}
    )
    file.write_text(text.replace("of ours", "of theirs"))
    twins.run_of(file, text, tmp_path / "run")
    assert [scenario.title for scenario in ran] == ["of ours"]


def test_the_emulation_is_a_line_through_two_bursts(emulation):
    line = emulation_line(60, 32)
    assert (line.burst, line.packet) == pytest.approx((40, 5))


def test_an_application_of_single_packets_has_no_price_a_burst(emulation):
    assert emulation_line(60, 1) == BurstPrice(0.0, 45.0)


def test_the_handler_takes_what_the_emulation_does_not(observed, emulation):
    """A burst takes 320 ticks and a packet 40: 160 and 20 ns at 2 GHz."""
    twin = twin_of(observed(busy_windows(VARIED, burst=320, packet=40)))
    scenario = tomllib.loads(twin.text)
    [workload] = scenario["workload"]
    assert workload["options"]["burst_ticks"] == pytest.approx((160 - 40) * 2, abs=5)
    assert workload["options"]["packet_ticks"] == pytest.approx((20 - 5) * 2, abs=2)
    assert scenario["server"]["batch"]["nic_rx"] == 32


def test_bursts_of_one_size_are_the_packets(observed, emulation):
    twin = twin_of(observed(busy_windows({32: 1.0}, burst=320, packet=40)))
    [workload] = tomllib.loads(twin.text)["workload"]
    assert workload["options"] == {"burst_ticks": 0, "packet_ticks": pytest.approx((25 - 5) * 2, abs=2)}
    assert "hardly vary" in twin.text


def test_an_application_that_is_faster_than_the_emulation_is_said(observed, emulation):
    twin = twin_of(observed(busy_windows({32: 1.0}, burst=0, packet=10, driver=1)))
    [workload] = tomllib.loads(twin.text)["workload"]
    assert workload["options"] == {"burst_ticks": 0, "packet_ticks": 0}
    assert "the twin is slower" in twin.text


def test_a_program_whose_name_ends_a_line_stays_a_comment(observed, emulation):
    assert (
        tomllib.loads(twin_of(observed(busy_windows(VARIED, burst=320, packet=40))).text)["title"] == "Twin of broker\n"
    )


def test_what_is_written_is_a_scenario(observed, emulation, tmp_path):
    from windtunnel.scenario import load

    file = tmp_path / "twin.toml"
    file.write_text(twin_of(observed(busy_windows(VARIED, burst=320, packet=40))).text)
    assert load(file)


def test_the_document_has_the_capacity(observed, emulation, tmp_path):
    twin = twin_of(observed(busy_windows({32: 1.0}, burst=320, packet=40)))
    assert "40.0 M/s" in render(twin_document(twin, tmp_path / "twin.toml", None))


def test_an_observation_without_packets_has_no_twin(observed, emulation):
    with pytest.raises(UserError, match="no thread has timed turns"):
        twin_of(observed([window(n, [channel({0: 100})], [port()]) for n in range(10)]))
