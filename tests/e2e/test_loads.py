"""Loads in phases and bursts, and sizes that differ: what a scenario may say, and what then runs."""

import itertools
import os
import struct
from collections import Counter

import pytest
from real_runs import L_APP, after, messages, recorded, run_well, scenario
from scenario_tools import finished, loaded, written

import windtunnel
from windtunnel.errors import UserError

PHASES = {"rate": None, "phase": [{"duration": "100ms", "rate": "100kpps"}, {"duration": "100ms", "rate": "0pps"}]}
CLIENT = {"inflight": 8192}
LIMITS = ("validity.max_preempted", "validity.max_slowdown", "validity.max_drift", "validity.max_excluded_windows")


def refused(directory, workload, **keys) -> str:
    with pytest.raises(UserError) as caught:
        finished(directory, scenario(L_APP | workload, **({"client": CLIENT} | keys)))
    return f"{caught.value.message}; {caught.value.remedy}"


def workload_of(directory, workload, **keys):
    return finished(directory, scenario(L_APP | workload, **({"client": CLIENT} | keys))).plans[0].workloads[0]


def test_load_phases_start_with_the_measurement(tmp_path):
    load = workload_of(tmp_path, PHASES, client=CLIENT | {"arrivals": "poisson"}).load
    assert load.lead == 1, "the warm-up runs once"
    assert [(p.length_ns, p.rate_per_s) for p in load.phases] == [
        (10_000_000, 1e5),
        (100_000_000, 1e5),
        (100_000_000, 0),
    ]
    assert {p.arrivals for p in load.phases} == {"poisson"}
    assert workload_of(tmp_path, PHASES, warmup="0s").load.lead == 0


def test_the_search_for_the_peer_is_not_measured(tmp_path):
    data = scenario(wire={"kind": "memif"}, client={"peer_mac": "resolve"}, warmup="0s")
    windows = run_well(tmp_path, data).windows
    assert [window.phase for window in windows["client"]] == ["hello", *["measure"] * 10, "drain"]
    assert [window.phase for window in windows["server"]] == [*["measure"] * 10, "drain"]
    hello, *measured = windows["client"]
    assert hello.ports[0].rx_packets > 0, "the ARP reply"
    assert sum(window.workloads[0].responses for window in measured) > 0


def test_a_note_names_phases_that_the_run_does_not_reach(tmp_path):
    phases = [
        {"duration": "30ms", "rate": "1kpps"},
        {"duration": "1s", "rate": "1kpps"},
        {"duration": "1s", "rate": "2pps"},
    ]
    spec = finished(tmp_path, scenario(L_APP | {"phase": phases}, client=CLIENT))
    assert "workload 0: the measurement ends at 100ms, before 1 of its 3 phases begin" in spec.notes


def test_one_rate_is_one_endless_phase(tmp_path):
    load = workload_of(tmp_path, {"rate": "5kpps", "on": "1ms", "off": "2ms"}).load
    [phase] = load.phases
    assert (phase.length_ns, phase.rate_per_s, phase.on_ns, phase.off_ns) == (None, 5e3, 1_000_000, 2_000_000)


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ({"phase": [{"duration": "0s", "rate": "1pps"}]}, 'phase.0.duration: "0s" is not between 1us and 24h'),
        ({"phase": [{"duration": "1s", "rate": "10000Mpps"}]}, '"10000Mpps" is not between 0pps and 1000Mpps'),
        ({"phase": [{"duration": "100ms"}]}, "phase.0.rate is missing"),
        (PHASES | {"rate": "1kpps"}, "rate cannot be combined with phases"),
        (PHASES | {"on": "1ms", "off": "1ms"}, "on cannot be combined with phases"),
        ({"on": "1ms", "off": "1ms"}, "on has no effect in a closed loop"),
        ({"rate": "1kpps", "on": "1ms"}, "on without off"),
        ({"phase": [{"duration": "1s", "rate": "1kpps", "off": "1ms"}]}, "off without on"),
        ({"phase": [{"duration": "100ms", "rate": "0pps"}]}, "all phases together send 0 messages"),
        (
            {"request_sizes": {"distribution": "imix", "genome": "aaXa"}},
            'genome: letter 3 is "X", which has no size',
        ),
        ({"request_sizes": {"distribution": "imix", "genome": "aah"}}, 'letter 3, "h", is a frame of 2112 bytes'),
        ({"request_sizes": {"distribution": "imix", "genome": ""}}, "a genome of 0 letters"),
        (
            {"request_sizes": {"distribution": "imix", "genome": "a", "custom": {"b": 90}}},
            '"b" is not one capital letter',
        ),
        ({"request_sizes": {"distribution": "imix"}}, "request_sizes.genome is missing"),
        (
            {"request_sizes": {"distribution": "imix", "genome": "A", "custom": {"A": "63B"}}},
            'not between 64B and 9018B; it takes a table of letters and sizes from "64B"',
        ),
        ({"request_sizes": {"distribution": "uniform", "least": 64, "most": 63}}, "least is 64, most 63"),
        (
            {"request_sizes": {"distribution": "uniform", "least": 64, "most": 99, "genome": "a"}},
            "genome has no effect",
        ),
        ({"request_sizes": {"distribution": "zipf", "least": 16, "most": "1MiB", "exponent": 1}}, "step = 16"),
        ({"request_sizes": {"distribution": "file", "file": "nowhere.txt"}}, "nowhere.txt: no such file"),
        ({"request_sizes": {"distribution": "normal"}}, "distribution is"),
        (
            {"request": 86, "request_sizes": {"distribution": "imix", "genome": "a"}},
            "request cannot be combined with request_sizes",
        ),
    ],
)
def test_impossible_values_are_refused_with_a_message(tmp_path, workload, words):
    assert words in refused(tmp_path, workload)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("86 1\n15\n", "sizes.txt:2: a size is from 16"),
        ("86 1\n\neighty 1\n", "sizes.txt:3: not a size and a weight: 'eighty 1'"),
        ("86 -1\n", "a weight not below 0"),
        ("86 nan\n", "a weight not below 0"),
        ("# nothing\n", "0 sizes with a weight of 0 in total"),
        ("86 0\n", "1 sizes with a weight of 0 in total"),
    ],
)
def test_a_list_of_sizes_is_refused_with_its_line(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sizes.txt").write_text(text)
    of_file = {"request_sizes": {"distribution": "file", "file": "sizes.txt"}}
    assert words in refused(tmp_path, of_file)
    monkeypatch.chdir("/usr")
    assert "eighty" not in refused(tmp_path, of_file), "what stands in a file elsewhere is not said"


def test_a_list_of_sizes_that_is_not_utf_8_is_refused(tmp_path):
    of_file = {"request_sizes": {"distribution": "file", "file": "sizes.txt"}}
    (tmp_path / "sizes.txt").write_bytes(b"86 1\n\x93\n")
    assert "sizes.txt:2: byte 0x93 is not UTF-8" in refused(tmp_path, of_file)
    os.truncate(tmp_path / "sizes.txt", 1 << 40)
    assert "sizes.txt: larger than 16MiB" in refused(tmp_path, of_file)


def test_sizes_become_lists(tmp_path):
    (tmp_path / "sizes.txt").write_text("# bytes, weight\n86 3\n1400, 1  # long\n100\n")
    of_file = {"distribution": "file", "file": "sizes.txt"}
    genome = {"distribution": "imix", "genome": "aAgz", "custom": {"A": 90}}
    planned = workload_of(tmp_path, {"request_sizes": of_file, "response_sizes": genome})
    assert (planned.request_sizes.bytes, planned.request_sizes.weights) == ([86, 1400, 100], [3, 1, 1])
    assert planned.response_sizes.bytes == [18, 44, 1472, 1472], "UDP payload of 64, 90 and 1518 bytes, and of the MTU"
    assert (planned.request_bytes, planned.response_bytes) == (1400, 1472)
    zipf = {"distribution": "zipf", "least": 100, "most": 400, "step": 100, "exponent": 1}
    assert workload_of(tmp_path, {"request_sizes": zipf}).request_sizes.weights == [1, 1 / 2, 1 / 3, 1 / 4]


def test_an_echo_response_has_the_size_of_its_request(tmp_path):
    sizes = {"distribution": "uniform", "least": 64, "most": 1000}
    keys = {"handler": None, "packet_handler": "echo", "request_sizes": sizes}
    assert workload_of(tmp_path, keys).response_bytes == 1000
    assert loaded(tmp_path, scenario(L_APP | keys)).workload[0].response is None


def payloads(run, kind: int) -> list[bytes]:
    """UDP payloads of all requests (0x11) or answers (0x12) that were sent, in their order."""
    assert run.record.engines[0].result.record_missed == 0, "frames found no room in the recorder"
    found = []
    for frame in recorded(run):
        length = struct.unpack_from(">H", frame, 38)[0] - 8
        if frame[42] == kind:
            found.append(frame[42 : 42 + length])
    return found


REQUEST, RESPONSE = 0x11, 0x12
MIXED = {
    "request_sizes": {"distribution": "imix", "genome": "aaaaaaaddddg"},
    "response_sizes": {"distribution": "uniform", "least": 16, "most": 400},
}
ONE_BY_ONE = {"client": {"rate": "5kpps", "inflight": 4096}, "record": "run.pcap"} | after(1100)
"""Slowly: main, which writes the capture, may have no CPU for some 0.8 s until frames find no room."""


def test_a_genome_is_sent_letter_by_letter_and_repeats(tmp_path):
    def spec(name: str, seed: int):
        (tmp_path / name).mkdir()
        return run_well(tmp_path / name, scenario({"handler": "t_app"} | MIXED, seed=seed, **ONE_BY_ONE))

    first, again, other = spec("first", 1), spec("again", 1), spec("other", 2)
    sent = [payloads(run, REQUEST) for run in (first, again, other)]
    sizes = [len(p) for p in sent[0]]
    assert sizes == list(itertools.islice(itertools.cycle([18] * 7 + [466] * 4 + [1472]), len(sizes)))
    together = min(map(len, sent))
    assert together > 1000
    assert sent[0][:together] == sent[1][:together], "the same messages on every repeat"
    responses = [[len(p) for p in payloads(run, RESPONSE)][:together] for run in (first, again, other)]
    together = min(map(len, responses))
    assert responses[0][:together] == responses[1][:together] != responses[2][:together]
    assert min(responses[0]) >= 16 and max(responses[0]) <= 400 and len(set(responses[0])) > 300


@pytest.mark.parametrize("response", ["request", "new"])
def test_a_handler_knows_the_size_of_each_request(tmp_path, response):
    """`l_app` makes its response as long as the request."""
    workload = {
        "handler": "l_app",
        "response": 400,
        "request_sizes": {"distribution": "uniform", "least": 32, "most": 400},
    }
    run = run_well(tmp_path, scenario(workload, server={"response_mbuf": response}, **ONE_BY_ONE))
    requests, responses = ([len(payload) for payload in payloads(run, kind)] for kind in (REQUEST, RESPONSE))
    assert len(set(responses)) > 100
    assert responses == requests[: len(responses)]


def test_weights_of_sizes_are_kept(tmp_path):
    (tmp_path / "sizes.txt").write_text("64 6\n300 3\n5000 1\n")
    workload = {"handler": "t_app", "request_sizes": {"distribution": "file", "file": "sizes.txt"}}
    run = run_well(tmp_path, scenario(workload, **ONE_BY_ONE))
    first_segments = [p for p in payloads(run, REQUEST) if p[12:14] == b"\0\0"]
    counts = Counter(int.from_bytes(p[14:16], "big") * 10_000 + len(p) for p in first_segments)
    whole = len(first_segments)
    assert whole == messages(run).sent > 1000
    assert set(counts) == {10_064, 10_300, 41_472}, "the last of 5000 bytes in four segments"
    for size, share in {10_064: 0.6, 10_300: 0.3, 41_472: 0.1}.items():
        assert abs(counts[size] - share * whole) < 5 * (share * (1 - share) * whole) ** 0.5


@pytest.mark.parametrize("response", ["request", "new"])
def test_all_sizes_up_to_many_segments_over_a_bad_wire(tmp_path, response):
    sizes = {"distribution": "uniform", "least": 16, "most": 40_000}
    workload = {"handler": "t_app", "request_sizes": sizes, "response_sizes": sizes, "timeout": "50ms"}
    faults = {"loss": 0.002, "duplicate": 0.01, "reorder": 0.05}
    keys = {"wire": {"faults": faults}, "server": {"response_mbuf": response}, "client": {"inflight": 64}}
    run = run_well(tmp_path, scenario(workload, **keys, **after(200)))
    assert messages(run).responses >= 200


def test_phases_offer_their_rates(tmp_path):
    """Times are not this machine's to promise: of both kinds of window there must be some, and the sum must fit."""
    phases = [{"duration": "100ms", "rate": "100kpps"}, {"duration": "100ms", "rate": "0pps"}]
    run = run_well(tmp_path, scenario(L_APP | {"phase": phases}, client=CLIENT, duration="400ms", window="20ms"))
    [windows] = run.windows.values()
    finished = [window for window in windows if window.phase != "drain"]
    offered = [window.workloads[0].offered for window in finished]
    assert 0 in offered and any(offered), offered
    elapsed_s = (finished[-1].end_ns - finished[0].start_ns) / 1e9
    assert sum(offered) < 0.75 * 100_000 * elapsed_s, "50 ms of warm-up, then half of the time"


def test_a_run_judges_each_phase_by_itself(tmp_path):
    """A busy host excludes windows: which phases have enough of them is not this machine's to promise."""
    phases = [{"duration": "180ms", "rate": "20kpps"}, {"duration": "180ms", "rate": "200kpps"}]
    timing = {"duration": "360ms", "window": "20ms"}
    file = written(tmp_path, scenario(L_APP | {"phase": phases}, client=CLIENT, **timing))
    run = windtunnel.run(file, dict.fromkeys(LIMITS, 1) | {"validity.settle": "0s"}, out=tmp_path / "run")
    validity = run.record.validity
    (words,) = [check.words for check in validity.checks if check.name == "steady"]
    assert "phase 1 (20.0 k/s)" in words and "phase 2 (200 k/s)" in words
    assert validity.settled is None
    named = [level.phase["l_app"] for level in validity.settled_phases]
    assert sorted(set(named)) == sorted(named) and set(named) <= {1, 2}
    [windows] = run.windows.values()
    measured = Counter(window.phase for window in windows)["measure"]
    assert all(level.what == "p50_ns" and 1 <= level.windows < measured for level in validity.settled_phases)
