"""Keys with a new name: a file that has the old one is refused, and `windtunnel migrate` rewrites it.

This is the one list of renames. Its paths hold no list positions: ("workload", "request") is the key of every [[workload]].
"""

from typing import Any

from windtunnel.scenario.refusal import Path, RenamedKey

Names = tuple[str, ...]

DEEPEST = 8
"""No key is as deep; a hostile file is not followed further."""

KEYS: dict[Names, str] = {
    ("server", "answer"): "response_mbuf",
    ("validity", "stolen"): "max_preempted",
    ("validity", "slower"): "max_slowdown",
    ("validity", "marked"): "max_excluded_windows",
    ("validity", "unsent"): "max_unsent",
    ("validity", "drift"): "max_drift",
    ("validity", "clock"): "max_clock_error",
}
"""A scenario's key as it was -> the last part of its path now."""

STUDY_KEYS: dict[Names, str] = {("figures",): "metrics"}
"""A study's own key as it was -> its name now."""

METRICS: dict[str, str] = {"answered": "responses", "answered_per_s": "responses_per_s"}
"""A column of a study's table as it was -> its name now."""


def check(data: dict[str, Any]) -> None:
    """Raises RenamedKey at the first old name in a scenario or a study."""
    old_names: list[tuple[Path, str]] = []
    renamed(data, old_names)
    if old_names:
        (path, new), *more = old_names
        raise RenamedKey(path, new, others=len(more))


def renamed(data: dict[str, Any], old_names: list[tuple[Path, str]] | None = None) -> dict[str, Any]:
    """The same scenario or study with the new names. Each old name is added to `old_names`, with its path."""
    new: dict[str, Any] = _renamed(data, (), is_study(data), [] if old_names is None else old_names)
    return new


def is_study(data: dict[str, Any]) -> bool:
    return "factor" in data and "workload" not in data


def new_key(table: Names, key: str, study: bool) -> str:
    """The name now of a key in a table; of a study, its [set] holds keys of a scenario."""
    if not study:
        return KEYS.get((*table, key), key)
    table = _without_full(table)
    if table[:1] == ("set",):
        return _last_renamed(".".join((*table[1:], key)), key)
    return STUDY_KEYS.get((*table, key), key)


def new_text(key: Names, text: str, study: bool) -> str:
    """The text now of a study's key that names scenario keys or metrics; any other text is as it was."""
    key = _without_full(key)
    if study and key in (("factor", "key"), ("factor", "keys")):
        return _last_renamed(text, text)
    if study and key in (("figures",), ("metrics",)):
        return METRICS.get(text, text)
    return text


def _without_full(names: Names) -> Names:
    """[full] of a study holds keys of the study."""
    return names[1:] if names[:1] == ("full",) else names


def _last_renamed(path: str, key: str) -> str:
    """`key`, which ends the path of a scenario's key, with its last part renamed."""
    new = KEYS.get(tuple(part for part in path.split(".") if not part.isdigit()))
    return key if new is None else ".".join([*key.split(".")[:-1], new])


def _renamed(value: Any, path: Path, study: bool, old_names: list[tuple[Path, str]]) -> Any:
    if len(path) > DEEPEST:
        return value
    names = tuple(part for part in path if isinstance(part, str))
    if isinstance(value, list):
        return [_renamed(entry, (*path, n), study, old_names) for n, entry in enumerate(value)]
    if isinstance(value, str):
        new = new_text(names, value, study)
        return _noted(path, value, new, old_names)
    if not isinstance(value, dict):
        return value
    return {
        _noted((*path, key), key, new_key(names, key, study), old_names): _renamed(
            inner, (*path, key), study, old_names
        )
        for key, inner in value.items()
    }


def _noted(path: Path, old: str, new: str, old_names: list[tuple[Path, str]]) -> str:
    if new != old:
        old_names.append((path, new))
    return new
