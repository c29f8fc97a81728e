"""The origin of an edit: a file below the directory of scenarios, a shipped scenario, or the scenario of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any

from windtunnel.engine.find import CHECKOUT, is_checkout
from windtunnel.errors import UserError
from windtunnel.exchange.toml_text import text_of
from windtunnel.index.index import Index
from windtunnel.index.untrusted import check_files
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.scenario import templates, toml
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.load import MAX_FILE_BYTES, question_of
from windtunnel.text_file import decoded, undecodable

SUFFIX = ".toml"
PARTS = ("bench", "contrib", "plugins", "scenarios", "studies", "tests")
"""Directories of a checkout with the project's scenarios, not with the user's."""


@dataclass(frozen=True)
class Origin:
    """A text and its source."""

    kind: str
    """"file", "shipped" or "run"."""
    name: str
    text: str
    place: Path
    """The file that messages name, and whose directory is the base of relative paths; it need not exist."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that a shipped scenario needs beside it."""


@dataclass(frozen=True)
class Listed:
    """A scenario with which an edit can begin."""

    name: str
    question: str
    wire: str
    """Its kind; empty if the text cannot be read yet."""


def files_of(scenarios: ScenarioDirectory) -> list[Listed]:
    """The scenarios among the TOML files of the directory: a file without [[workload]] is a study, or of another program."""
    files = []
    for name in scenarios.listed(SUFFIX):
        try:
            text = scenarios.read(name, MAX_FILE_BYTES).decode()
        except (UserError, UnicodeDecodeError):
            continue
        if (wire := _wire_of(text)) is not None:
            files.append(Listed(name, question_of(text), wire))
    return files


@lru_cache(512)
def _wire_of(text: str) -> str | None:
    """The kind of wire of a scenario; None: it is no scenario. It is cached: parsing an untrusted file may take a tenth of a second, and there may be
    hundreds."""
    try:
        data = toml.parse(text)
    except UserError:
        return None
    except toml.Fault:  # half-written: it can be mended here
        return "" if "[[workload]]" in text else None
    if "workload" not in data or "factor" in data:
        return None
    wire = data.get("wire", {})
    kind = wire.get("kind", "ring") if isinstance(wire, dict) else ""
    return kind if isinstance(kind, str) else ""


def is_of_checkout(listed: Listed, scenarios: ScenarioDirectory) -> bool:
    """Whether the file came with the checkout that this program runs from."""
    file = scenarios.root / listed.name
    return is_checkout() and any(file.is_relative_to(CHECKOUT / part) for part in PARTS)


def shipped() -> list[Listed]:
    return [
        Listed(name, template.question, _wire_of(template.text) or "")
        for name, template in templates.available().items()
    ]


def origin_of(kind: str, name: str, scenarios: ScenarioDirectory, index: Index) -> Origin:
    """The origin of a kind and name. Raises UserError if it does not exist."""
    if kind == "file":
        return _file(name, scenarios)
    if kind == "shipped" and (template := templates.available().get(name)):
        folder = Path(str(resources.files("windtunnel") / "templates"))
        return Origin(kind, name, template.text, folder / f"{name}{SUFFIX}", template.files)
    if kind == "run":
        return _run(name, scenarios, index)
    raise UserError(f"{name[:80]}: no such scenario", remedy="one of the list")


def new_name(origin: Origin, scenarios: ScenarioDirectory) -> str:
    """A free name beside the origin, or in the directory."""
    path = PurePosixPath(origin.name)
    stem = path.name.removesuffix(SUFFIX) if origin.kind != "run" else path.parent.name
    folder = path.parent if origin.kind == "file" else PurePosixPath()
    names = (folder / f"{stem}{f'-{number}' if number > 1 else ''}{SUFFIX}" for number in range(1, 1000))
    return next((str(name) for name in names if not (scenarios.root / name).exists()), "")


def _file(name: str, scenarios: ScenarioDirectory) -> Origin:
    raw = scenarios.read(name, MAX_FILE_BYTES)
    try:
        text = decoded(raw)
    except UnicodeDecodeError as error:
        raise UserError(f"{name}:{undecodable(raw, error)}", "a file in UTF-8") from None
    return Origin("file", name, text, scenarios.root / name)


def _run(name: str, scenarios: ScenarioDirectory, index: Index) -> Origin:
    """The scenario of a run, without the keys that have their defaults."""
    from windtunnel.runs import load

    directory = index.run_directory(name)
    if directory is None:
        raise UserError(f"{name[:80]}: no such run", remedy="one of the page Runs")
    check_files(directory)
    record = load(directory).record
    notes = [f"as it ran in {directory.name}; keys with their default values are left out"]
    text = text_of(record.question or record.title, notes, _without_defaults(record.scenario, _defaults()))
    if len(text.encode(errors="replace")) > MAX_FILE_BYTES:
        raise UserError(
            f"{name}: its scenario is larger than {MAX_FILE_BYTES >> 10} KiB", remedy="a run of a scenario file"
        )
    return Origin("run", name, text, scenarios.root / f"{directory.name}{SUFFIX}")


def _defaults() -> dict[str, Any]:
    """The defaults of all keys that have one, in the form of a record."""
    least: dict[str, Any] = {"wire": {}, "client": {}, "server": {}, "workload": [{}]}
    return Scenario.model_validate(least).model_dump(mode="json", by_alias=True)


def _without_defaults(value: dict[str, Any], default: Any) -> dict[str, Any]:
    """The table without nulls and without keys that equal their defaults; an empty [client] or [server] stays, because it is required."""
    own: dict[str, Any] = {}
    for key, inner in value.items():
        default_value = default.get(key) if isinstance(default, dict) else None
        if isinstance(inner, dict):
            table = _without_defaults(inner, default_value)
            if table or key in ("client", "server"):
                own[key] = table
        elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
            first = default_value[0] if isinstance(default_value, list) and default_value else {}
            own[key] = [_without_defaults(item, first) for item in inner]
        elif inner is not None and inner != default_value and inner != []:
            own[key] = inner
    return own
