"""Tables that run: every method answers every packet rightly, and does to it what its action says."""

import struct
from math import sqrt

import pytest
from real_runs import PATIENT, assert_sound, execute, messages, recorded, run_well, scenario

from windtunnel.runs.summary import summarise

pytestmark = pytest.mark.slow

NULL = {"wire": {"kind": "null", "packet": "128B"}, "server": {}}
SLOW = {"client": {"rate": "20kpps"}}
METHODS = [
    {"kind": "exact", "lookup": "single", "entry": "pointed", "key": "2x8"},
    {"kind": "exact", "key": ["ipv4.src", "udp.src", "udp.dst"], "keys": "zipf"},
    {"kind": "lpm", "method": "lpm", "key": ["ipv4.dst"], "prefixes": "mixed", "access": "rcu"},
    {"kind": "lpm", "key": ["ipv6.src"], "prefixes": "mixed", "access": "rcu", "lookup": "single", "entry": "pointed"},
    {"kind": "ternary", "method": "tss", "key": ["ipv6.dst", "udp.src", "udp.dst"]},
    {"kind": "ternary"},
    {"kind": "ternary", "method": "linear", "lookup": "single", "entries": 50},
]
MORE_METHODS = [
    {"kind": "exact"},
    {"kind": "exact", "key": ["ipv6.src", "ipv6.dst", "ipv6.next_header", "ipv6.hop_limit", "udp.dst"]},
    {"kind": "lpm"},
    {"kind": "lpm", "key": ["ipv6.dst"]},
    {"kind": "lpm", "key": "1x16"},
    {"kind": "ternary", "method": "tss", "key": ["ipv4.src", "ipv4.dst", "udp.src", "udp.dst"]},
]


def tables(*given: dict, **keys) -> dict:
    return scenario({"packet_handler": "match_action", "table": list(given)}, **keys)


def counted(run, table: str = "exact0") -> dict[str, int]:
    """Over the whole run."""
    (engine,) = run.record.engines
    return {counter.name: counter.value for counter in engine.result.counters if counter.of == table}


def about(share: float, draws: int):
    """Within six standard deviations of the binomial distribution: how many draws there are is the host's mood."""
    return pytest.approx(share * draws, abs=6 * sqrt(share * (1 - share) * draws))


@pytest.mark.parametrize(
    "table",
    METHODS + [pytest.param(table, marks=pytest.mark.long("crosses")) for table in MORE_METHODS],
    ids=lambda t: "-".join(str(v) for v in t.values())[:40],
)
def test_every_lookup_is_right(tmp_path, table):
    """Made here into empty frames, and by a client into its requests."""
    for top, sides in ((NULL, ("server",)), (SLOW, ("client", "server"))):
        (tmp_path / sides[0]).mkdir()
        run = execute(tmp_path / sides[0], tables({"name": "t", "hit": 0.7} | table, **top), *PATIENT).run
        assert_sound(run)
        of = counted(run, "t")
        assert of["lookups"] == of["checked"] > 0 and of["wrong"] == 0
        assert of["hits"] == about(0.7, of["lookups"])
        assert of["entries"] == table.get("entries", 1000) and of["memory"] > 0
        if "client" in sides:
            assert messages(run).responses == messages(run).sent > 0


@pytest.mark.parametrize(
    "table", [{"kind": "exact"}, {"kind": "lpm", "key": ["ipv6.dst"]}, {"kind": "lpm", "key": ["ipv4.dst"]}]
)
def test_every_lookup_is_right_over_ipv6(tmp_path, table):
    """The frame's own header is IPv6's; keys lie in the body, or in a datagram of either version inside it."""
    addresses = {"client": SLOW["client"] | {"ip": "fd00::1"}, "server": {"ip": "fd00::2"}}
    run = execute(tmp_path, tables({"name": "t", "hit": 0.7} | table, **addresses), *PATIENT).run
    assert_sound(run)
    of = counted(run, "t")
    assert of["lookups"] == of["checked"] > 0 and of["wrong"] == 0
    assert messages(run).responses == messages(run).sent > 0


def test_steps_of_a_pipeline(tmp_path):
    """Traffic and check stand apart, and every packet goes through each table until it is dropped."""
    two = [{"name": "first", "hit": 0.5, "miss": "drop"}, {"name": "second", "where": "egress", "kind": "lpm"}]
    run = execute(tmp_path, tables(*two, **NULL, accounting={"level": "cycles"})).run
    assert_sound(run)
    steps = {row.step: row for row in summarise(run).steps}
    names = ["traffic", "parser", "verify checksum", "first", "second", "compute checksum", "deparser", "check"]
    assert list(steps) == names
    assert [name for name in names if steps[name].traffic] == ["traffic", "check"]
    halved = ("second", "compute checksum", "deparser")
    shares = {name: pytest.approx(0.5 if name in halved else 1, abs=0.05) for name in names}
    assert {name: steps[name].packets_share for name in names} == shares
    first, second = counted(run, "first"), counted(run, "second")
    assert second["lookups"] == first["hits"] < first["lookups"] == first["checked"]
    dropped = sum(s.drops.get("by_handler", 0) for w in run.windows["windtunnel"] for s in w.stages)
    assert dropped == first["lookups"] - first["hits"]


def test_a_burst_may_be_longer_than_a_table_takes(tmp_path):
    """A table takes 64 packets at a time: of 100 the rest, and no more."""
    server = {"batch": {"nic_rx": 100, "disp_rx": 100}}
    run = execute(tmp_path, tables({"name": "t", "hit": 0.7}, **NULL | {"server": server}), *PATIENT).run
    assert_sound(run)
    received = sum(s.objects for w in run.windows["windtunnel"] for s in w.stages if s.stage == "disp_rx")
    assert max(stage.mean_burst for stage in summarise(run).stages if stage.stage == "disp_rx") > 64
    of = counted(run, "t")
    assert of["lookups"] == of["checked"] == received
    assert of["hits"] == about(0.7, of["lookups"])


def checksum(header: bytes) -> int:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_rewritten_packets(tmp_path):
    (tmp_path / "routes.csv").write_text("10.0.0.0/8,258\n11.0.0.0/8,772\n")
    table = {"kind": "lpm", "rules": "routes.csv", "action": "rewrite"}
    run = run_well(tmp_path, tables(table, client={"rate": "5kpps"}, record="run.pcap"))
    sent = {f[46:54]: f for f in recorded(run) if f[22] == 64}
    responses = [f for f in recorded(run) if f[22] == 63]
    assert len(responses) >= messages(run).responses > 100
    routes = {10: bytes([2, 0, 0, 0, 1, 2]), 11: bytes([2, 0, 0, 0, 3, 4])}
    for response in responses:
        request = sent[response[46:54]]
        assert checksum(response[14:34]) == 0xFFFF
        assert response[:6] == request[6:12]
        assert response[6:12] == routes[response[58]]
        assert (response[26:30], response[30:34]) == (request[30:34], request[26:30])


def test_drop_and_meter(tmp_path):
    (tmp_path / "drop").mkdir()
    run = execute(tmp_path / "drop", tables({"action": "drop", "hit": 0.5}, **NULL)).run
    of = counted(run)
    dropped = sum(s.drops.get("by_handler", 0) for w in run.windows["windtunnel"] for s in w.stages)
    assert dropped == of["hits"] > 0
    meter = {"action": "meter", "entries": 1, "meter": {"committed": "1Mbps", "peak": "2Mbps", "burst": "1500B"}}
    run = execute(tmp_path, tables(meter, **NULL)).run
    assert_sound(run)
    of = counted(run)
    assert of["green"] + of["yellow"] + of["red"] == of["hits"]
    assert 0 < of["green"] < of["red"] and of["yellow"] > 0


@pytest.mark.parametrize("kind", ["exact", "lpm", "ternary"])
def test_changes_while_packets_flow(tmp_path, kind):
    """Half of the packets miss, so that a rule that comes and goes beside them would be seen."""
    method = {"method": "tss"} if kind == "ternary" else {}
    table = {"name": "t", "kind": kind, "hit": 0.5, "access": "rcu", "changes": "5k"} | method
    run = execute(tmp_path, tables(table, **NULL, duration="400ms")).run
    assert_sound(run)
    of = counted(run, "t")
    assert of["changes"] > 100 and of["commits"] > 10 and of["refused"] == 0
    assert of["checked"] == of["lookups"] > 1000 and of["wrong"] == 0
    assert of["entries"] >= 1000
    assert any("tables are changed by a thread on" in note for note in run.record.all_notes())


@pytest.mark.parametrize("tables_", ["shared", "per_core"])
def test_two_dispatchers(tmp_path, tables_):
    table = {"tables": tables_, "entries": 2000}
    data = tables(table, **NULL)
    data["workload"][0]["dispatchers"] = 2
    run = execute(tmp_path, data).run
    assert_sound(run)
    result = run.record.engines[0].result
    entries = [f.value for f in result.counters if f.name == "entries"]
    assert entries == ([2000, 0] if tables_ == "shared" else [2000, 2000])
    memory = [f.value for f in result.counters if f.name == "memory"]
    assert memory[0] > 0 and (memory[1] == 0 if tables_ == "shared" else memory[1] > 0)
    assert all(f.value > 0 for f in result.counters if f.name == "checked")


def test_keys_of_a_capture_are_looked_up(tmp_path):
    from scenario_tools import SHIPPED

    top = {"wire": {"kind": "pcap", "replay": str(SHIPPED / "frames.pcap")}, "server": {}}
    run = execute(tmp_path, tables({"kind": "lpm", "key": ["ipv4.dst"]}, **top)).run
    assert_sound(run)
    of = counted(run, "lpm0")
    assert of["lookups"] > 0 and of["checked"] == of["wrong"] == 0


def test_filters_of_classbench(tmp_path):
    from scenario_tools import SHIPPED

    table = {"name": "acl", "kind": "ternary", "rules": str(SHIPPED / "filters.classbench")}
    run = execute(tmp_path, tables(table, **NULL)).run
    assert_sound(run)
    assert counted(run, "acl")["checked"] > 100


def test_key_bytes_without_a_field_are_zero(tmp_path):
    """Three bytes behind the protocol, whatever a key was before."""
    keys = [f"0a0000{n:02x}{proto:02x}000000,{n}" for n in range(40) for proto in (6, 17)]
    (tmp_path / "keys.csv").write_text("\n".join(keys))
    exact = {"name": "t", "rules": "keys.csv", "key": ["ipv4.src", "ipv4.proto"]}
    run = execute(tmp_path, tables({"name": "before", "key": "1x16"}, exact, **NULL)).run
    assert_sound(run)
    assert counted(run, "t")["hits"] == counted(run, "t")["checked"] > 100
