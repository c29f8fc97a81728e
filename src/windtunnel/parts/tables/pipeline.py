"""Makes the pipeline of `match_action` from `[[workload.table]]`: what tables mean for each other, and where keys lie in a packet."""

import hashlib
from itertools import pairwise
from pathlib import Path as File
from typing import Literal

from windtunnel.engine.plan_values import MESSAGE_HEADER_BYTES
from windtunnel.errors import UserError
from windtunnel.parts.tables import plan as plans
from windtunnel.parts.tables.keys import FIELDS, SEGMENTS, MatchTable, table_keys, versions_of
from windtunnel.parts.tables.plan import INNER_HEADERS_BYTES, INNER_IPV6_HEADERS_BYTES, Method
from windtunnel.parts.tables.rule_files import RuleFile, kept, key_of_filters, read_rules
from windtunnel.scenario import wires
from windtunnel.scenario.carriers import carrier_of
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.topology import smallest_request_bytes

HANDLER = "match_action"
METHODS: dict[str, tuple[Method, ...]] = {
    "exact": ("hash",),
    "lpm": ("fib", "lpm"),
    "ternary": ("acl", "linear", "tss"),
}
"""Kind -> methods, its default first."""
DEFAULT_ENTRIES = 1000
FRAME_HEADERS_BYTES, FRAME_IPV6_HEADERS_BYTES = 42, 62
IPV6_ADDRESS_BYTES = 16
EXPECTED_BYTES = 4
TERNARY_KEY_MOST = 48


def check_tables(scenario: Scenario, index: int) -> None:
    """Raises Refusal for tables that cannot be, as far as no host is needed."""
    workload, here = scenario.workload[index], ("workload", index)
    tables = table_keys(workload)
    if workload.packet_handler == HANDLER and not tables:
        raise Refusal((*here, "packet_handler"), f"{HANDLER} has no table", "a [[workload.table]]")
    if not tables:
        return
    if carrier := carrier_of(workload):
        raise Refusal(
            (*here, "table"),
            f"table has no effect on a {carrier.NAME}: tables are those of a packet handler, and a {carrier.NAME} has none",
            f"no table, or no table {carrier.NAME}",
        )
    if workload.packet_handler != HANDLER:
        raise Refusal((*here, "table", 0), f"tables are for {HANDLER}", f'packet_handler = "{HANDLER}"')
    if workload.handler is not None:
        raise Refusal(
            (*here, "handler"),
            f"{HANDLER} forwards every packet, so no message reaches the message handler",
            "no handler",
        )
    if workload.options:
        raise Refusal((*here, "options"), f"{HANDLER} takes no options", "keys in [[workload.table]]")
    names = table_names(tables)
    for place, table in enumerate(tables):
        _check(table, (*here, "table", place))
        if names.index(names[place]) < place:
            raise Refusal((*here, "table", place, "name"), f'two tables are called "{names[place]}"', "a unique name")
    for place, (first, second) in enumerate(pairwise(tables), start=1):
        if (first.where, second.where) == ("egress", "ingress"):
            raise Refusal(
                (*here, "table", place, "where"), "an ingress table after an egress table", "ingress tables first"
            )
    plan_pipeline(scenario, index, None, keep=False)


def table_names(tables: list[MatchTable]) -> list[str]:
    return [table.name or f"{table.kind}{place}" for place, table in enumerate(tables)]


def _check(table: MatchTable, here: Path) -> None:
    if table.method is not None and table.method not in METHODS[table.kind]:
        raise Refusal(
            (*here, "method"),
            f"{table.method} is not a method of {table.kind} tables",
            f"one of {', '.join(METHODS[table.kind])}",
        )
    if table.rules is not None and table.entries is not None:
        raise Refusal((*here, "entries"), "entries cannot be combined with rules from a file", "one of them")
    if table.changes and table.access != "rcu":
        raise Refusal((*here, "changes"), 'changes need access = "rcu"', 'access = "rcu"')
    if table.changes and table.tables == "per_core":
        raise Refusal((*here, "changes"), "changes need one table for all cores", 'tables = "shared"')
    if (table.meter is not None) != (table.action == "meter"):
        what = "meter has no effect" if table.meter else "the rates of the meter are missing"
        raise Refusal(
            (*here, "meter" if table.meter else "action"),
            what,
            'meter = { committed = "1Gbps", peak = "2Gbps" } and action = "meter"',
        )
    if table.meter and table.meter.peak < table.meter.committed:
        raise Refusal((*here, "meter", "peak"), "the peak rate is below the committed rate", "at least as much")
    if table.masks > 1 and table.masks % 2:
        raise Refusal((*here, "masks"), f"{table.masks} masks: an even number is needed", f"{table.masks + 1}, or 1")


def traffic_of(scenario: Scenario) -> Literal["none", "frames", "requests"]:
    """Who writes the keys: our client into requests, the handler into empty frames of the wire, or none."""
    if scenario.client is not None or wires.has(scenario, "both_ends"):
        return "requests"
    return "frames" if wires.has(scenario, "unfilled") else "none"


def plan_pipeline(scenario: Scenario, index: int, change_cpu: int | None, keep: bool = True) -> plans.Pipeline:
    """The pipeline of a workload; `keep` writes rules that come from a file to where the engine reads them. Raises Refusal."""
    tables, here = table_keys(scenario.workload[index]), ("workload", index, "table")
    traffic = traffic_of(scenario)
    sources = [_rules(scenario, table, (*here, place)) for place, table in enumerate(tables)]
    keys = [_key_of(scenario, table) for table in tables]
    inner = traffic == "requests" and any(isinstance(key, list) for key in keys)
    ipv6 = _is_ipv6(keys, here)
    body = (INNER_IPV6_HEADERS_BYTES if ipv6 else INNER_HEADERS_BYTES) if inner else 0
    offsets: list[int] = []
    steered: list[bool] = []
    taken: set[str] = set()
    room = 0
    for place, key in enumerate(keys):
        offsets.append(room)
        room += _bytes_of(key) if isinstance(key, str) else 0
        fields = set(key) if isinstance(key, list) else set()
        steered.append(traffic != "none" and not fields & taken)
        _check_traffic(tables[place], (*here, place), traffic, sources[place], steered[place])
        taken |= fields
    expected = [room + EXPECTED_BYTES * place for place in range(len(keys))]
    expected_bytes = EXPECTED_BYTES * len(keys) if traffic != "none" else 0
    planned = plans.Pipeline(
        traffic=traffic,
        body_offset=MESSAGE_HEADER_BYTES if traffic == "requests" else 0,
        body_bytes=body + room + expected_bytes,
        inner=inner,
        ipv6=ipv6,
        change_cpu=change_cpu,
        tables=[
            _table(
                table,
                name=name,
                key=_key(key, offset, table, (*here, place)),
                source=source,
                keep=keep,
                seed=_seed(scenario.seed, index, place),
                steered=steered[place],
                expected=expected[place],
            )
            for place, (table, name, key, offset, source) in enumerate(
                zip(tables, table_names(tables), keys, offsets, sources, strict=True)
            )
        ],
    )
    _check_room(scenario, index, planned)
    return planned


def _file(scenario: Scenario, table: MatchTable) -> File:
    return (scenario.source.file.parent / str(table.rules)).absolute()


def _rules(scenario: Scenario, table: MatchTable, here: Path) -> RuleFile | None:
    if table.rules is None:
        return None
    try:
        file, key = _file(scenario, table), _key_of(scenario, table)
        fields = key_of_filters(file) if table.kind == "ternary" else None
        if fields and key != fields and not (isinstance(key, str) and key in SEGMENTS):
            raise Refusal(
                (*here, "key"),
                f"{file}: its filters define their own fields",
                f"remove the key, or use {fields}",
            )
        return read_rules(file, table.kind, _bytes_of(key))
    except UserError as error:
        raise Refusal((*here, "rules"), error.message, error.remedy or "a file of rules") from None


def rules_of(scenario: Scenario, table: MatchTable) -> int:
    """How many rules the file of a table holds; `check_tables` has read it."""
    return read_rules(_file(scenario, table), table.kind, _bytes_of(_key_of(scenario, table))).rules


def _key_of(scenario: Scenario, table: MatchTable) -> str | list[str]:
    if table.key is not None:
        return table.key
    if table.rules and table.kind == "ternary" and (fields := key_of_filters(_file(scenario, table))):
        return fields
    return "1x4" if table.kind == "lpm" else "4x4"


def _bytes_of(key: str | list[str]) -> int:
    """A key of fields is filled up to a multiple of 4."""
    if isinstance(key, str):
        return 16 if key in SEGMENTS else 4
    return -(-sum(FIELDS[field][2] for field in key) // 4) * 4


def _is_ipv6(keys: list[str | list[str]], here: Path) -> bool:
    """Whether fields are those of IPv6. Raises Refusal if tables want both versions: a packet has one."""
    versions: set[str] = set()
    for place, key in enumerate(keys):
        versions |= versions_of(key) if isinstance(key, list) else set()
        if len(versions) > 1:
            raise Refusal(
                (*here, place, "key"),
                "the tables have fields of IPv4 and of IPv6: a packet has one of them",
                "fields of one version, or a workload for each",
            )
    return "ipv6" in versions


def _check_prefixes(table: MatchTable, key: str | list[str], size: int, here: Path) -> None:
    """Raises Refusal for an LPM table that is none: of IPv6, its method and its prefixes are others."""
    if isinstance(key, list) and len(key) > 1 or size not in (4, IPV6_ADDRESS_BYTES):
        raise Refusal(
            (*here, "key"), "the key of an lpm table is one IP address", 'key = "1x4", ["ipv4.dst"] or ["ipv6.dst"]'
        )
    if isinstance(key, str) and key in SEGMENTS and SEGMENTS[key] != IPV6_ADDRESS_BYTES:
        raise Refusal((*here, "key"), f'"{key}": an IPv6 address is moved whole', 'key = "1x16"')
    ipv6 = size == IPV6_ADDRESS_BYTES
    if ipv6 and table.method == "fib":
        raise Refusal((*here, "method"), "fib looks up IPv4 addresses only", 'method = "lpm"')
    if table.prefixes == ("24" if ipv6 else "48"):
        raise Refusal(
            (*here, "prefixes"),
            f'"{table.prefixes}" is a length for {"IPv4" if ipv6 else "IPv6"}, and the key is an {"IPv6" if ipv6 else "IPv4"} address',
            f'"{"48" if ipv6 else "24"}" or "mixed"',
        )


def _method(table: MatchTable, key: plans.Key) -> Method:
    if table.method is None and table.kind == "lpm" and key.bytes == IPV6_ADDRESS_BYTES:
        return "lpm"
    return table.method or METHODS[table.kind][0]


def _key(key: str | list[str], offset: int, table: MatchTable, here: Path) -> plans.Key:
    size = _bytes_of(key)
    if table.kind == "lpm":
        _check_prefixes(table, key, size, here)
    if table.rules is not None and table.kind == "ternary" and size > TERNARY_KEY_MOST:
        raise Refusal((*here, "key"), f"{size} bytes, a ternary key has {TERNARY_KEY_MOST} at most", "fewer fields")
    if isinstance(key, list):
        if table.rules is None and (own := sum(FIELDS[field][2] for field in key)) != size:
            raise Refusal(
                (*here, "key"),
                f"the fields have {own} bytes; generated rules need a multiple of 4",
                "fields of 4, 8, 12 bytes and so on in total, or rules from a file",
            )
        fields = [
            plans.KeyField(place=FIELDS[field][0], offset=FIELDS[field][1], bytes=FIELDS[field][2]) for field in key
        ]
        return plans.Key(fields=fields, bytes=size, segments=0)
    width: Literal[4, 8, 16] = SEGMENTS.get(key, 4)
    fields = [plans.KeyField(place="body", offset=offset + at, bytes=width) for at in range(0, size, width)]
    return plans.Key(fields=fields, bytes=size, segments=width if key in SEGMENTS else 0)


def _check_traffic(table: MatchTable, here: Path, traffic: str, source: RuleFile | None, steered: bool) -> None:
    given = [key for key in ("hit", "keys", "exponent") if key in table.model_fields_set]
    if given and traffic == "none":
        raise Refusal(
            (*here, given[0]),
            f"{given[0]}: Windtunnel does not generate the keys of this traffic",
            f"a [client], or wire.kind = {wires.named('unfilled')}",
        )
    if given and not steered:
        raise Refusal(
            (*here, given[0]),
            f"{given[0]}: an earlier table already sets some of these fields, so hits cannot be set here",
            f"no {given[0]}, or a key of other fields",
        )
    if source and source.catches_all and table.hit < 1 and steered:
        raise Refusal((*here, "hit"), f"a hit rate of {table.hit:g}, but one rule matches every key", "hit = 1")


def _check_room(scenario: Scenario, index: int, planned: plans.Pipeline) -> None:
    """Frames or requests must hold keys and what is said of them."""
    frame = wires.frame_option(scenario)
    if planned.traffic == "frames" and frame:
        headers = FRAME_IPV6_HEADERS_BYTES if planned.ipv6 else FRAME_HEADERS_BYTES
        need, have = headers + planned.body_bytes, wires.value(scenario, frame.name)
        path: Path = ("wire", frame.name)
    elif planned.traffic == "requests":
        need, have = planned.body_offset + planned.body_bytes, smallest_request_bytes(scenario, index)
        path = ("workload", index, "request")
    else:
        return
    if have < need:
        raise Refusal(path, f"{path[-1]}: {have} bytes are too few for the keys of the tables", f'"{need}B" or more')


def _seed(seed: int, workload: int, table: int) -> int:
    """Far from every other's, and the same on both sides of a run."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{workload}/{table}".encode(), digest_size=8).digest(), "little")


def _table(
    table: MatchTable,
    *,
    name: str,
    key: plans.Key,
    source: RuleFile | None,
    keep: bool,
    seed: int,
    steered: bool,
    expected: int,
) -> plans.Table:
    file = None if source is None else str(kept(source)) if keep else "not written"
    meter = table.meter
    return plans.Table(
        name=name,
        where=table.where,
        kind=table.kind,
        method=_method(table, key),
        key=key,
        rules=0 if source else table.entries or DEFAULT_ENTRIES,
        file=file,
        prefixes=table.prefixes or ("48" if table.kind == "lpm" and key.bytes == IPV6_ADDRESS_BYTES else "24"),
        masks=table.masks,
        load=table.load,
        lookup=table.lookup,
        access=table.access,
        entry=table.entry,
        per_core=table.tables == "per_core",
        action=table.action,
        meter=plans.Meter(
            committed_bytes_per_s=int(meter.committed / 8),
            peak_bytes_per_s=int(meter.peak / 8),
            burst_bytes=meter.burst,
        )
        if meter
        else None,
        miss_drops=table.miss == "drop",
        changes_per_s=table.changes,
        seed=seed,
        steered=steered,
        hit=table.hit,
        popularity=table.keys,
        exponent=table.exponent,
        expected=expected,
    )
