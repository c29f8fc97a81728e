"""Every place of a plan by the plan's own schema: what may stand there, and what lies just outside of it."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from part_samples import part_samples
from sample_plan import make_plan

from windtunnel.engine.plan import Plan

SCHEMA = Plan.model_json_schema()
TEXTS = {"mac": "02:00:00:00:00:09", "ip": "10.0.0.9"}
LEFT_ALONE = {"hello_wait_ns", "model", "nic", "variants"}
"""Keys that would contradict others: both sides are in this plan, one NIC cannot be both, copies are modelled where no copier has a
thread, and the first variant changes nothing."""

VARIANTS = {
    "settle_ns": 1000,
    "variants": [
        {"name": "plain", "delays": [], "batch": {}, "inflight": None},
        {
            "name": "other",
            "delays": [{"endpoint": "client", "stage": "app_tx", "ns": 2.5}],
            "batch": {"server": {"nic_rx": 8}},
            "inflight": 7,
        },
    ],
    "order": [0, 1],
}
"""The first one of several changes nothing."""

Where = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """A key or an element of a list; `schema` is what may stand there if not null."""

    where: Where
    schema: dict[str, Any]
    nullable: bool

    @property
    def path(self) -> str:
        """As the engine writes it: endpoints[0].mtu."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.where).lstrip(".")

    def put(self, plan: dict[str, Any], value: Any) -> dict[str, Any]:
        """The plan with another value here."""
        changed = copy.deepcopy(plan)
        *above, last = self.where
        at: Any = changed
        for part in above:
            at = at[part]
        at[last] = value
        return changed


def full_plan() -> dict[str, Any]:
    """A valid plan in which hardly anything is null or empty."""
    plan = make_plan(packet_handler="echo").model_dump(mode="json")
    for prepare in part_samples("prepare_workload"):
        prepare(plan["workloads"][0])
    filled = _filled(SCHEMA, plan | {"variants": VARIANTS})
    for complete in part_samples("complete_plan"):
        complete(filled)
    return filled


def places(plan: dict[str, Any]) -> Iterator[Place]:
    yield from _places(SCHEMA, plan, ())


def outside(place: Place, here: Any) -> Iterator[Any]:
    """Values just outside of what the schema allows; `here` is what stands there now."""
    schema = place.schema
    if not place.nullable:
        yield None
    if "const" in schema or "enum" in schema:
        known = schema.get("enum", [schema.get("const")])
        yield "?" if isinstance(known[0], str) else max(known) + 1
        return
    match schema["type"]:
        case "integer":
            yield schema["minimum"] - 1
            yield schema["maximum"] + 1
            yield 0.5
            if "multipleOf" in schema or "x-power-of-two" in schema:
                yield schema["minimum"] * 2 + 1
        case "number":
            low, high = schema.get("minimum"), schema.get("maximum")
            yield schema["exclusiveMinimum"] if low is None else math.nextafter(low, -math.inf)
            if high is not None:
                yield math.nextafter(high, math.inf)
        case "boolean":
            yield 1
        case "string":
            yield "?" if "format" in schema else "\0"
            yield 5
        case "array":
            yield {}
            if "minItems" in schema:
                yield here[: schema["minItems"] - 1]
            if "maxItems" in schema:
                yield (here * (schema["maxItems"] + 1))[: schema["maxItems"] + 1]
        case "object":
            yield []


def inside(place: Place) -> tuple[Any, Any] | None:
    """The least and the most, of numbers that have both."""
    limits = place.schema.get("minimum"), place.schema.get("maximum")
    return limits if None not in limits and not place.schema.keys() & {"multipleOf", "x-power-of-two"} else None


def _resolved(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    nullable = "anyOf" in schema
    if nullable:
        schema = schema["anyOf"][0]
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema, nullable


def _places(schema: dict[str, Any], value: Any, where: Where) -> Iterator[Place]:
    inner, nullable = _resolved(schema)
    if where:
        yield Place(where, inner, nullable)
    if isinstance(value, dict) and "properties" in inner:
        for key, child in value.items():
            yield from _places(inner["properties"][key], child, (*where, key))
    if isinstance(value, dict) and "propertyNames" in inner:
        for key, child in value.items():
            yield from _places(inner["additionalProperties"], child, (*where, key))
    if isinstance(value, list):
        for index, child in enumerate(value):
            yield from _places(inner["items"], child, (*where, index))


def _filled(schema: dict[str, Any], value: Any) -> Any:
    inner, _ = _resolved(schema)
    if value is None:
        return _example(inner)
    if isinstance(value, dict) and "properties" in inner:
        of = inner["properties"]
        return {key: child if key in LEFT_ALONE else _filled(of[key], child) for key, child in value.items()}
    return [_filled(inner["items"], child) for child in value] if isinstance(value, list) else value


def _example(schema: dict[str, Any]) -> Any:
    schema, _ = _resolved(schema)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema["type"]:
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "string":
            return TEXTS.get(schema.get("format", ""), "text")
        case "array":
            return [_example(schema["items"])]
    return {key: None if key in LEFT_ALONE else _example(child) for key, child in schema.get("properties", {}).items()}
