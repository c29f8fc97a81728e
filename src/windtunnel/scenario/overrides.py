"""`--set path.to.key=VALUE`: changes one key from the command line."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.errors import UserError, as_argument
from windtunnel.scenario.refusal import Override, Refusal, dotted

MAX_DEPTH = 8
EXAMPLE = "--set server.batch.app_rx=64, or --set workload.0.request=1KiB"


def parse_overrides(sets: list[str]) -> list[Override]:
    """Splits each `path=value`; raises UserError for one that is no such thing."""
    overrides = []
    for text in sets:
        name, equals, _ = text.partition("=")
        parts = name.strip().split(".")
        if (
            not equals
            or len(parts) > MAX_DEPTH
            or not all(re.fullmatch(r"[A-Za-z0-9_-]+", part, re.ASCII) for part in parts)
        ):
            raise UserError(f"--set {text}: not a key and its value", remedy=EXAMPLE)
        overrides.append(Override(text, tuple(int(part) if _is_index(part) else part for part in parts)))
    return overrides


def as_sets(changes: Mapping[str, Any]) -> list[str]:
    """The texts of --set for these keys and values: {"client.inflight": 64} is ["client.inflight=64"]."""
    return [f"{key}={_text(value)}" for key, value in changes.items()]


def as_changes(sets: Sequence[str]) -> dict[str, Any]:
    """The keys and values that these texts say: the inverse of `as_sets`. Raises UserError."""
    return {dotted(each.path): value_of(each.value) for each in parse_overrides(list(sets))}


def apply(override: Override, data: dict[str, Any]) -> None:
    """Changes `data` in place; tables on the way are made if they are missing. Raises Refusal."""
    level: Any = data
    for depth, part in enumerate(override.path, start=1):
        path = override.path[:depth]
        if isinstance(level, list):
            if not isinstance(part, int) or part >= len(level):
                indexed = dotted((*path[:-1], 0, *override.path[depth - 1 :]))
                raise Refusal(
                    path,
                    f"{dotted(path)}: the list has {len(level)} {'entry' if len(level) == 1 else 'entries'}, counted from 0",
                    EXAMPLE if isinstance(part, int) else f"--set {as_argument(f'{indexed}={override.value}')}",
                )
        elif not isinstance(level, dict):
            raise Refusal(path, f"{dotted(path[:-1])} is not a table", EXAMPLE)
        key: Any = part if isinstance(level, list) else str(part)
        if depth == len(override.path):
            level[key] = value_of(override.value)
        else:
            level = level[key] if isinstance(level, list) else level.setdefault(key, {})


def _text(value: Any) -> str:
    """What `value_of` turns back into the value. JSON's texts, numbers and lists of them are TOML's."""
    return value if isinstance(value, str) and value_of(value) == value else json.dumps(value)


def _is_index(part: str) -> bool:
    return part.isdigit() and len(part) <= 9


def value_of(text: str) -> Any:
    """A TOML value; a bare word is taken as text, so that a shell needs no second pair of quotes."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if parsed.keys() == {"value"} else text
