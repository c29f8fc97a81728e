"""What an edit begins with: a file below the directory of scenarios, a shipped scenario, or the scenario of a run."""

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
from windtunnel.scenario import templates, toml
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.load import MAX_FILE_BYTES, question_of
from windtunnel.text_file import decoded, undecodable
from windtunnel.ui.edit.below import Below

SUFFIX = ".toml"
PARTS = ("bench", "contrib", "plugins", "scenarios", "studies", "tests")
"""Directories of a checkout that hold scenarios of the project, and not of who works in it."""


@dataclass(frozen=True)
class Origin:
    """A text, and where it is from."""

    kind: str
    """"file", "shipped" or "run"."""
    name: str
    text: str
    place: Path
    """The file whose directory relative paths begin at, and that messages name; it need not be there."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What a shipped scenario needs beside it."""


@dataclass(frozen=True)
class Listed:
    """A scenario that one can begin with."""

    name: str
    question: str
    wire: str
    """Its kind; empty if the text cannot be read yet."""


def files_of(below: Below) -> list[Listed]:
    """The scenarios among the TOML files of the directory: what holds no [[workload]] is a study, or somebody else's."""
    found = []
    for name in below.listed(SUFFIX):
        try:
            text = below.read(name, MAX_FILE_BYTES).decode()
        except (UserError, UnicodeDecodeError):
            continue
        if (wire := _wire_of(text)) is not None:
            found.append(Listed(name, question_of(text), wire))
    return found


@lru_cache(512)
def _wire_of(text: str) -> str | None:
    """The kind of wire of a scenario; None: it is none. Parsed once: a file that somebody sent may take a tenth of a second, and there may be hundreds."""
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


def is_of_checkout(listed: Listed, below: Below) -> bool:
    """Whether the file came with the checkout that this program runs from."""
    file = below.root / listed.name
    return is_checkout() and any(file.is_relative_to(CHECKOUT / part) for part in PARTS)


def shipped() -> list[Listed]:
    return [
        Listed(name, template.question, _wire_of(template.text) or "")
        for name, template in templates.available().items()
    ]


def origin_of(kind: str, name: str, below: Below, index: Index) -> Origin:
    """Raises UserError for what is not there."""
    if kind == "file":
        return _file(name, below)
    if kind == "shipped" and (template := templates.available().get(name)):
        folder = Path(str(resources.files("windtunnel") / "templates"))
        return Origin(kind, name, template.text, folder / f"{name}{SUFFIX}", template.files)
    if kind == "run":
        return _run(name, below, index)
    raise UserError(f"{name[:80]}: no such scenario", remedy="one of the list")


def new_name(origin: Origin, below: Below) -> str:
    """A name beside the origin, or in the directory, that is free."""
    path = PurePosixPath(origin.name)
    stem = path.name.removesuffix(SUFFIX) if origin.kind != "run" else path.parent.name
    folder = path.parent if origin.kind == "file" else PurePosixPath()
    names = (folder / f"{stem}{f'-{number}' if number > 1 else ''}{SUFFIX}" for number in range(1, 1000))
    return next((str(name) for name in names if not (below.root / name).exists()), "")


def _file(name: str, below: Below) -> Origin:
    raw = below.read(name, MAX_FILE_BYTES)
    try:
        text = decoded(raw)
    except UnicodeDecodeError as error:
        raise UserError(f"{name}:{undecodable(raw, error)}", "a file in UTF-8") from None
    return Origin("file", name, text, below.root / name)


def _run(name: str, below: Below, index: Index) -> Origin:
    """The scenario of a run as it ran, without what is the default."""
    from windtunnel.runs import load

    directory = index.run_directory(name)
    if directory is None:
        raise UserError(f"{name[:80]}: no such run", remedy="one of the page Runs")
    check_files(directory)
    record = load(directory).record
    notes = [f"as it ran in {directory.name}; keys with their default values are left out"]
    text = text_of(record.question or record.title, notes, _given(record.scenario, _defaults()))
    if len(text.encode(errors="replace")) > MAX_FILE_BYTES:
        raise UserError(
            f"{name}: its scenario is larger than {MAX_FILE_BYTES >> 10} KiB", remedy="a run of a scenario file"
        )
    return Origin("run", name, text, below.root / f"{directory.name}{SUFFIX}")


def _defaults() -> dict[str, Any]:
    """Of every key that has one, as a record has them."""
    least: dict[str, Any] = {"wire": {}, "client": {}, "server": {}, "workload": [{}]}
    return Scenario.model_validate(least).model_dump(mode="json", by_alias=True)


def _given(value: dict[str, Any], default: Any) -> dict[str, Any]:
    """Without nulls and without what the defaults say; a table that has nothing left stays, as [server] has to."""
    kept: dict[str, Any] = {}
    for key, inner in value.items():
        known = default.get(key) if isinstance(default, dict) else None
        if isinstance(inner, dict):
            table = _given(inner, known)
            if table or key in ("client", "server"):
                kept[key] = table
        elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
            first = known[0] if isinstance(known, list) and known else {}
            kept[key] = [_given(each, first) for each in inner]
        elif inner is not None and inner != known and inner != []:
            kept[key] = inner
    return kept
