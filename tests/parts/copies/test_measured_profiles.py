"""Profiles from measurements: they are read as any other, with the figures that were measured, and never overwrite a file."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import UserError
from windtunnel.parts.copies.costs import Measured
from windtunnel.parts.copies.engine_profiles import load_profile, read_profile
from windtunnel.parts.copies.measured_profiles import as_profile, check_new, profile_text, write_profile
from windtunnel.parts.copies.query import CopierHead, CopyCosts

HEAD = {"type": "copier", "engine": "dma", "kind": "core", "device": "dma_skeleton0", "cpu": 1, "tsc_hz": 2 * 10**9}


def measured(trip: float | None = 400.0, **head) -> Measured:
    costs = [
        CopyCosts(type="costs", bytes=size, hot=hot, cpu_cycles=cpu, caller_cycles=200, copier_cycles=2 * cpu)
        for size, cold in ((256, 100.0), (1024, 300.0))
        for hot, cpu in ((False, cold), (True, cold / 10))
    ]
    copier = CopierHead.model_validate(HEAD | {"trip_ns": trip} | head)
    return Measured(copier=copier, depth=64, batch=32, costs=costs, trip_ns_after=trip)


def read(tmp_path, text: str):
    write_profile(tmp_path / "made.toml", text)
    return load_profile("made.toml", tmp_path)


def test_the_cpu_is_an_engine_that_ends_copies_with_their_submit(tmp_path):
    profile = read(tmp_path, as_profile([measured()], "cpu", hot=False))
    assert profile.name == "cpu" and profile.device is None and profile.assumptions() == []
    assert profile.caller.copy_.given == [[256, 50], [1024, 150]]
    assert profile.caller.burst.given == profile.caller.poll.given == profile.caller.end.given == 0
    assert "windtunnel host copies" in profile.caller.copy_.source
    hot = read_profile(tmp_path, as_profile([measured()], "cpu", hot=True))
    assert hot.caller.copy_.given == [[256, 5], [1024, 15]]


def test_a_copier_with_a_thread_has_a_device(tmp_path):
    profile = read(tmp_path, as_profile([measured()], "dma", hot=False))
    assert profile.caller.copy_.given == [[256, 100], [1024, 100]]
    assert profile.device.rate.given == [[256, 2.56], [1024, pytest.approx(3.413)]]
    assert profile.device.latency.given == 300 and profile.device.queue.given == 64


def test_a_loop_of_the_cpu_has_none_and_a_device_of_the_host_an_assumed_latency(tmp_path):
    loop = as_profile([measured(engine="cpu_nt", cpu=None, trip=None)], "cpu_nt", hot=False)
    assert "[device]" not in loop and 'name = "cpu-nt"' in loop
    profile = read(tmp_path, as_profile([measured(kind="hardware", cpu=None, trip=None)], "dma", hot=False))
    assert any(words.startswith("device.latency = 0") for words in profile.assumptions())


def test_a_copier_of_ones_own_has_the_name_of_its_file(tmp_path):
    own = measured(engine="./my/libMy_Own.so", cpu=None, trip=None)
    assert read(tmp_path, as_profile([own], "./my/libMy_Own.so", hot=False)).name == "libmy-own"


def test_what_was_not_measured_has_no_profile():
    with pytest.raises(UserError, match='no copier "dsa" was measured') as refused:
        as_profile([measured()], "dsa", hot=False)
    assert refused.value.remedy == "one of cpu, dma"


def test_a_file_is_never_overwritten(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("mine")
    for attempt in (lambda: write_profile(file, "other"), lambda: check_new(file)):
        with pytest.raises(UserError, match=r"mine.toml: exists already"):
            attempt()
    assert file.read_text() == "mine"
    with pytest.raises(UserError, match="no such file or directory"):
        write_profile(tmp_path / "none" / "x.toml", "")


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_a_host_is_called_the_file_is_toml(title, source):
    text = profile_text("mine", title or "x", [(256, 1.5)], source)
    assert tomllib.loads(text)["engine"]["name"] == "mine"
