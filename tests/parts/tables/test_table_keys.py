"""`[[workload.table]]`: what becomes of a table in the plan, and what is refused with its line."""

from pathlib import Path

import pytest
from sample_rules import FILTER
from scenario_tools import SHIPPED, finished, loaded, machine
from scenario_tools import refused as refused_scenario

from windtunnel.part_registry import PARTS
from windtunnel.parts.tables.memory import tables_bytes
from windtunnel.parts.tables.plan import Pipeline

NULL = {"wire": {"kind": "null"}, "server": {}}
LONG = NULL | {"wire": {"kind": "null", "packet": "128B"}}
FIELDS = ["ipv4.src", "ipv4.dst", "udp.src", "udp.dst"]


def tables(*given: dict, **workload) -> dict:
    return {"workload": [{"packet_handler": "match_action", "table": list(given)} | workload]}


def planned(tmp_path, *given: dict, top=NULL, **workload) -> Pipeline:
    (plan,) = finished(tmp_path, top | tables(*given, **workload)).plans
    (workload,) = plan.workloads
    assert (workload.packet_handler.name, workload.packet_handler.options) == ("match_action", {})
    return workload.pipeline


def refused(tmp_path, *given: dict, top=NULL, **workload) -> str:
    """Without file and line in front, which are always there."""
    said = refused_scenario(tmp_path, top | tables(*given, **workload))
    assert said.startswith(f"{tmp_path}/test.toml:")
    return said.partition(": ")[2]


def test_a_table_of_defaults(tmp_path):
    pipeline = planned(tmp_path, {})
    (table,) = pipeline.tables
    assert (table.name, table.kind, table.method, table.rules) == ("exact0", "exact", "hash", 1000)
    assert [(f.place, f.offset, f.bytes) for f in table.key.fields] == [("body", at, 4) for at in (0, 4, 8, 12)]
    assert (pipeline.traffic, pipeline.body_offset, pipeline.body_bytes, table.expected) == ("frames", 0, 20, 16)
    assert table.steered and table.hit == 1


@pytest.mark.parametrize(("key", "segments"), [("4x4", 4), ("2x8", 8), ("1x16", 16)])
def test_segments(tmp_path, key, segments):
    (table,) = planned(tmp_path, {"key": key}).tables
    assert [f.bytes for f in table.key.fields] == [segments] * (16 // segments)
    assert table.key.segments == segments and table.key.bytes == 16


def test_tables_have_keys_of_their_own(tmp_path):
    three = [{}, {"kind": "lpm"}, {"kind": "ternary", "where": "egress"}]
    pipeline = planned(tmp_path, *three, top=LONG)
    assert [t.key.fields[0].offset for t in pipeline.tables] == [0, 16, 20]
    assert [t.expected for t in pipeline.tables] == [36, 40, 44]
    assert pipeline.body_bytes == 48
    assert len({t.seed for t in pipeline.tables}) == 3


def test_keys_are_padded_to_segments(tmp_path, monkeypatch):
    """For rules from a file alone: a made key would have bits where the packet has none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "acl.txt").write_text(FILTER)
    fields = [*FIELDS, "ipv4.proto"]
    (table,) = planned(tmp_path, {"kind": "ternary", "key": fields, "rules": "acl.txt"}).tables
    assert table.key.bytes == 16 and sum(f.bytes for f in table.key.fields) == 13
    assert [(f.place, f.offset) for f in table.key.fields] == [("l3", 12), ("l3", 16), ("l4", 0), ("l4", 2), ("l3", 9)]
    assert refused(tmp_path, {"kind": "ternary", "key": fields}).startswith("the fields have 13 bytes; generated rules")


def test_a_client_writes_keys_behind_an_inner_header(tmp_path):
    pipeline = planned(tmp_path, {"kind": "lpm", "key": ["ipv4.dst"]}, top={})
    assert (pipeline.traffic, pipeline.inner, pipeline.body_offset) == ("requests", True, 16)
    assert pipeline.body_bytes == 28 + 4
    assert not planned(tmp_path, {}, top={}).inner


def test_keys_of_ipv6(tmp_path):
    """Of frames and of headers in a request's body, which are 20 bytes longer; prefixes by rte_lpm6."""
    lpm, exact = {"kind": "lpm", "key": ["ipv6.dst"]}, {"key": ["ipv6.src", "udp.src", "udp.dst"]}
    frames = planned(tmp_path, lpm, exact, top=LONG)
    assert (frames.traffic, frames.inner, frames.ipv6, frames.body_bytes) == ("frames", False, True, 8)
    first, second = frames.tables
    assert (first.method, first.prefixes, first.key.bytes) == ("lpm", "48", 16)
    assert [(f.place, f.offset, f.bytes) for f in second.key.fields] == [("l3", 8, 16), ("l4", 0, 2), ("l4", 2, 2)]
    requests = planned(tmp_path, lpm, top={})
    assert (requests.inner, requests.ipv6, requests.body_bytes) == (True, True, 48 + 4)
    of_body = planned(tmp_path, {"kind": "lpm", "key": "1x16"}, top=NULL)
    assert (of_body.ipv6, of_body.tables[0].method, of_body.tables[0].key.segments) == (False, "lpm", 16)
    assert not planned(tmp_path, {"kind": "lpm"}).ipv6


def test_fields_that_an_earlier_table_chooses(tmp_path):
    lpm, acl = {"kind": "lpm", "key": ["ipv4.dst"]}, {"kind": "ternary", "key": FIELDS}
    assert [t.steered for t in planned(tmp_path, lpm, acl).tables] == [True, False]
    assert refused(tmp_path, lpm, acl | {"hit": 0.5}).startswith("hit: an earlier table already sets some of these")


def test_keys_of_a_capture(tmp_path):
    top = {"wire": {"kind": "pcap", "replay": str(SHIPPED / "frames.pcap")}, "server": {}}
    pipeline = planned(tmp_path, {"kind": "lpm", "key": ["ipv4.dst"]}, top=top)
    assert (pipeline.traffic, pipeline.body_bytes) == ("none", 0)
    said = refused(tmp_path, {"hit": 0.5}, top=top)
    assert said.startswith("hit: Windtunnel does not generate the keys of this traffic")


def test_rules_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "acl.txt").write_text(FILTER)
    pipeline = planned(tmp_path, {"kind": "ternary", "rules": "acl.txt"})
    (table,) = pipeline.tables
    origin, *rules = Path(table.file).read_text().splitlines()
    assert table.rules == 0 and len(rules) == 6
    assert origin == f"from {tmp_path / 'acl.txt'}"
    assert [f.bytes for f in table.key.fields] == [4, 4, 2, 2, 1]
    (tmp_path / "acl.txt").write_text("10.0.0.0/8,1\n10.0.0.0/8,2\n")
    said = refused(tmp_path, {"kind": "lpm", "rules": "acl.txt"})
    assert said.startswith(f"{tmp_path}/acl.txt:2: conflicts with line 1: the same rule; ")


@pytest.mark.parametrize("key", ["1x4", ["ipv4.src"], [*FIELDS], ["ipv4.dst", "ipv4.src", *FIELDS[2:], "ipv4.proto"]])
def test_filters_have_fields_of_their_own(tmp_path, key):
    (tmp_path / "acl.txt").write_text(FILTER)
    said = refused(tmp_path, {"kind": "ternary", "rules": "acl.txt", "key": key})
    assert said.startswith(f"{tmp_path}/acl.txt: its filters define their own fields; ")
    assert len(planned(tmp_path, {"kind": "ternary", "rules": "acl.txt", "key": "2x8"}).tables[0].key.fields) == 2


@pytest.mark.parametrize(("lead", "last"), [("@", "6/0xff"), ("R", "6/0xff 2")])
def test_filters_of_ipv6_have_the_fields_of_ipv6(tmp_path, monkeypatch, lead, last):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "acl.txt").write_text(f"{lead}2001:db8::/32 ::/0 0 : 65535 80 : 80 {last}\n")
    pipeline = planned(tmp_path, {"kind": "ternary", "rules": "acl.txt"}, top=LONG)
    (table,) = pipeline.tables
    assert pipeline.ipv6 and [f.bytes for f in table.key.fields] == [16, 16, 2, 2, 1] and table.key.bytes == 40
    said = refused(tmp_path, {"kind": "ternary", "rules": "acl.txt", "key": [*FIELDS, "ipv4.proto"]}, top=LONG)
    assert said.startswith(f"{tmp_path}/acl.txt: its filters define their own fields; ") and "ipv6.src" in said


def test_a_default_rule_cannot_miss(tmp_path):
    (tmp_path / "all.txt").write_text("0.0.0.0/0,1\n")
    said = refused(tmp_path, {"kind": "lpm", "rules": "all.txt", "hit": 0.9})
    assert said.startswith("a hit rate of 0.9, but one rule matches every key; ")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{"kind": "lpm", "method": "hash"}], "hash is not a method of lpm tables"),
        ([{"kind": "lpm", "key": "4x4"}], '"4x4": an IPv6 address is moved whole'),
        ([{"kind": "lpm", "key": ["udp.src", "udp.dst", "ipv6.dst"]}], "the key of an lpm table is one IP address"),
        ([{"kind": "lpm", "key": ["ipv6.dst"], "method": "fib"}], "fib looks up IPv4 addresses only"),
        ([{"kind": "lpm", "key": ["ipv6.dst"], "prefixes": "24"}], '"24" is a length for IPv4, and the key is an IPv6'),
        ([{"kind": "lpm", "prefixes": "48"}], '"48" is a length for IPv6, and the key is an IPv4 address'),
        ([{"key": ["ipv4.dst"]}, {"key": ["ipv6.dst"]}], "the tables have fields of IPv4 and of IPv6"),
        ([{"key": ["ipv4.dst", "ipv6.dst"]}], "names fields of IPv4 and of IPv6"),
        ([{"key": "3x4"}], 'workload.0.table.0.key: "3x4" is not a key'),
        ([{"key": ["ipv6.port"]}], 'workload.0.table.0.key: "ipv6.port" is not a field'),
        ([{"key": ["ipv4.src", "ipv4.src"]}], "workload.0.table.0.key: names a field twice"),
        ([{"entries": "10M", "rules": "x"}], "entries cannot be combined with rules from a file"),
        ([{"entries": "20M"}], 'workload.0.table.0.entries: "20M" is not between 1 and 10M'),
        ([{"rules": "gone.csv"}], "gone.csv: no such file or directory"),
        ([{"changes": 100}], 'changes need access = "rcu"'),
        ([{"changes": 100, "access": "rcu", "tables": "per_core"}], "changes need one table for all cores"),
        ([{"action": "meter"}], "the rates of the meter are missing"),
        ([{"meter": {}}], "meter has no effect"),
        ([{"action": "meter", "meter": {"peak": "1Mbps"}}], "the peak rate is below the committed rate"),
        ([{"kind": "ternary", "masks": 3}], "3 masks: an even number is needed"),
        ([{"name": "a"}, {"name": "a"}], 'two tables are called "a"'),
        ([{"where": "egress"}, {}], "an ingress table after an egress table"),
        ([{}, {}], "packet: 64 bytes are too few for the keys of the tables"),
        ([], "match_action has no table"),
        ([{"name": str(n)} for n in range(9)], "workload.0.table: more than 8 entries"),
    ],
)
def test_invalid_tables(tmp_path, given, words):
    assert words in refused(tmp_path, *given)


def test_misplaced_tables_are_refused(tmp_path):
    assert "tables are for match_action" in refused(tmp_path, {}, packet_handler="echo")
    assert "no message reaches" in refused(tmp_path, {}, handler="l_app", top={})
    assert "takes no options" in refused(tmp_path, {}, options={"pipeline": "x"})
    if "streams" in PARTS:
        assert "table has no effect on a stream" in refused(tmp_path, {}, packet_handler=None, stream={}, top={})
    assert "request: 20 bytes are too few" in refused(tmp_path, {}, top={}, request=20)


def test_table_changes_use_a_free_cpu(tmp_path):
    live = {"access": "rcu", "changes": "10k"}
    assert planned(tmp_path, live).change_cpu == 0  # the server has the higher of two
    crowded = NULL | {"server": {"cores": [0, 1]}}
    spec = finished(tmp_path, crowded | tables(live, dispatchers=2))
    assert spec.plans[0].workloads[0].pipeline.change_cpu is None
    assert any("none of which is free" in note for note in spec.notes)


def test_tables_larger_than_memory(tmp_path, monkeypatch):
    from windtunnel.parts.tables import memory

    two = tables({"entries": "10M"}, {"entries": 10}, dispatchers=2)
    scenario = loaded(tmp_path, LONG | two)
    monkeypatch.setattr(memory, "_asked", lambda pipeline: [t.rules * 100 for t in pipeline.tables])
    assert tables_bytes(scenario, machine(memory_bytes=4 << 30)) == 1_000_001_000
    with pytest.raises(Exception) as caught:
        tables_bytes(scenario, machine(memory_bytes=1 << 30))
    assert caught.value.path == ("workload", 0, "table", 0, "entries")
    assert caught.value.what == "the tables want 953 MiB, the machine has 1,024 MiB"
    own = loaded(tmp_path, NULL | tables({"entries": "10M", "tables": "per_core"}, dispatchers=2))
    assert tables_bytes(own, machine(memory_bytes=4 << 30)) == 2_000_000_000
