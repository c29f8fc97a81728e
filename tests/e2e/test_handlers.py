"""What handlers ask and answer, read from recorded runs: keys by their distribution, inflated requests by zlib itself."""

import struct
import zlib

import numpy as np
import pytest
from real_runs import after, execute, messages, recorded, run_well, scenario

from windtunnel.engine.find import find_engine
from windtunnel.engine.query import handlers
from windtunnel.errors import UserError

BODY_AT = 14 + 20 + 8 + 16
"""Ethernet, IPv4, UDP, message header."""
GET, SET = 1, 2
LEAST = 600
"""Requests of a run."""


def bodies(run, kind: int) -> list[bytes]:
    """Of recorded messages in the order in which they were sent."""
    return [frame[BODY_AT:] for frame in recorded(run) if frame[42] == kind]


def requests(directory, options: dict, **keys) -> list[bytes]:
    directory.mkdir(exist_ok=True)
    workload = {"handler": "kv", "options": options}
    client = {"rate": "5kpps"}  # the recorder has room for 0.8 s
    run = run_well(directory, scenario(workload, client=client, record="run.pcap", **after(LEAST), **keys))
    return bodies(run, 0x11)


def keys_of(asked: list[bytes]) -> list[int]:
    return [struct.unpack_from("<Q", body, 8)[0] for body in asked]


def test_keys_follow_a_zipf_distribution_and_repeat_with_the_seed(tmp_path):
    options = {"keys": 1000, "distribution": "zipf", "exponent": 0.99, "hot": "together"}
    first, again = requests(tmp_path / "a", options), requests(tmp_path / "b", options)
    other = requests(tmp_path / "c", options, seed=2)
    both = min(len(first), len(again))
    assert both >= LEAST and first[:both] == again[:both]
    assert first[:500] != other[:500]
    drawn = np.bincount(keys_of(first[:500]), minlength=1000)
    weights = np.arange(1, 1001) ** -0.99
    expected = 500 * weights / weights.sum()
    bins = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    drawn, expected = np.add.reduceat(drawn, bins), np.add.reduceat(expected, bins)
    assert ((drawn - expected) ** 2 / expected).sum() < 29.6, "chi-square, 10 degrees of freedom, 1 in 1000"


def test_keys_of_a_file_beside_the_scenario(tmp_path, monkeypatch):
    (tmp_path / "keys.txt").write_text("# key weight\n5 3\n70000 1\n9 0\n")
    monkeypatch.chdir("/")
    options = {"keys": 100, "distribution": "file", "file": "keys.txt", "get_percent": 100}
    asked = keys_of(requests(tmp_path, options))
    assert set(asked) == {5, 70000}
    assert 0.5 < asked.count(5) / len(asked) < 0.95


def test_a_wrong_line_of_a_key_file_is_named_in_the_verdict(tmp_path):
    (tmp_path / "keys.txt").write_text("1 1\n2 many\n")
    options = {"distribution": "file", "file": "keys.txt"}
    run = execute(tmp_path, scenario({"handler": "kv", "options": options})).run
    [reason] = run.record.verdict.reasons
    assert "keys.txt:2: this is not a key and its weight" in reason and "many" not in reason


def test_a_missing_file_is_refused_with_its_line(tmp_path):
    options = {"distribution": "file", "file": "keys.txt"}
    with pytest.raises(UserError, match=r"test.toml:4: file: no such file: .*/keys.txt"):
        execute(tmp_path, scenario({"handler": "kv", "options": options}))


def test_a_get_returns_what_was_set_last(tmp_path):
    """With one slot its generations number the requests: where some are missing, the recorder was too slow for them, and
    nobody knows what they have set. An answer is held against its own request, however late it is."""
    options = {"keys": 20, "get_percent": 50, "distribution": "zipf"}
    one = {"inflight": 1, "batch": {"app_tx": 1}}
    run = run_well(tmp_path, scenario({"handler": "kv", "options": options}, client=one, record="run.pcap"))
    values, expected, checked, last = {}, {}, 0, None
    for frame in recorded(run):
        kind, generation, body = frame[42], struct.unpack_from(">I", frame, 50)[0], frame[BODY_AT:]
        if kind == 0x11:
            if last is not None and generation != last + 2:
                values.clear()
            last = generation
            what, length, key = body[0], *struct.unpack_from("<4xIQ", body)
            if what == SET:
                values[key] = body[16 : 16 + length]
            elif what == GET and key in values:
                expected[generation] = values[key]
        elif generation in expected:
            assert body[0] == 0 and body[16:] == expected.pop(generation)
            checked += 1
    assert checked > 5


def libraries() -> list[str]:
    [handler] = [handler for handler in handlers(find_engine()) if handler.name == "decompress"]
    [choices] = [option.choices for option in handler.options if option.name == "library"]
    return choices


@pytest.mark.parametrize("library", ["zlib", "isal"])
def test_compressed_output_equals_that_of_zlib(tmp_path, library):
    if library not in libraries():
        pytest.skip(f"this engine was built without {library}")
    workload = {"handler": "decompress", "request": 1400, "response": 40, "options": {"library": library}}
    run = run_well(tmp_path, scenario(workload, client={"rate": "1kpps"}, record="run.pcap", **after(50)))
    outputs = []
    for body in bodies(run, 0x11):
        length, adler, output = struct.unpack_from("<IIQ", body)
        content = zlib.decompress(body[16 : 16 + length])
        assert (len(content), zlib.adler32(content)) == (output, adler)
        outputs.append((adler, output))
    responses = [struct.unpack("<B3xIQ", body[:16]) for body in bodies(run, 0x12)]
    assert len(responses) == messages(run).responses >= 50
    assert {status for status, *_ in responses} == {0}
    assert {tuple(response[1:]) for response in responses} == set(outputs)
    assert len(set(outputs)) == 4


def test_a_handler_without_its_library_is_refused(tmp_path):
    with pytest.raises(UserError) as refused:
        execute(tmp_path, scenario({"handler": "decompress", "options": {"library": "libdeflate"}}))
    assert 'library: "libdeflate" is not a choice' in refused.value.message
    assert "ISA-L" in refused.value.remedy
