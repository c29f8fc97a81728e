"""Shell completion. It never fails: if something is not known, nothing is offered.

`windtunnel --install-completion` sets it up; typer knows the shells' protocols.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from windtunnel.engine.own_directory import is_own
from windtunnel.errors import UserError

_CHOICE = re.compile(r'"([^"]+)"')
_LONGEST = 64 << 10
_HARMLESS = re.compile(r"[\w./][\w./:=,@+-]*")
"""Shells insert an offer unquoted, and zsh evaluates it first: so no offer has a special character of a shell, or is an option."""
_HARMFUL_IN_HELP = re.compile(r"[^\w .,;:?/%+=()-]")

Offers = list[tuple[str, str]]
"""A possible completion and its help."""


def check_home() -> None:
    """Raises UserError if others may write into the home whose files a shell reads: sudo may keep theirs, with links to files of root."""
    if not is_own(home := Path.home()):
        raise UserError(
            f"{home}: it is not there, or other users may put links there, through which files of yours would be changed",
            remedy="set HOME to your own home directory",
        )


def _quiet(offer: Callable[[str], Iterator[tuple[str, str]]]) -> Callable[[str], Offers]:
    """A function for typer, which calls it with the incomplete word. Names and help may be another user's: harmful ones are left out."""

    def complete(incomplete: str) -> Offers:
        try:
            return [
                (text, _HARMFUL_IN_HELP.sub("", help_))
                for text, help_ in offer(incomplete)
                if text.startswith(incomplete) and _HARMLESS.fullmatch(text)
            ]
        except Exception:  # noqa: BLE001 - a traceback would be printed into the command that is being typed
            return []

    complete.__name__ = complete.__qualname__ = offer.__name__
    return complete


@_quiet
def scenarios(incomplete: str) -> Iterator[tuple[str, str]]:
    """Scenario files, and the names of the shipped scenarios."""
    yield from _files(incomplete, studies=False)
    yield from templates(incomplete)


@_quiet
def studies(incomplete: str) -> Iterator[tuple[str, str]]:
    """Study files, directories of studies, and the command below `study`."""
    yield from _directories(incomplete, "study.json", "study")
    yield from _files(incomplete, studies=True)
    yield "query", "query the results of studies in SQL"


@_quiet
def runs(incomplete: str) -> Iterator[tuple[str, str]]:
    """Run directories, and the directories on the way to them."""
    yield from _directories(incomplete, "run.json", "run")


@_quiet
def study_directories(incomplete: str) -> Iterator[tuple[str, str]]:
    """Directories of studies, and the directories on the way to them."""
    yield from _directories(incomplete, "study.json", "study")


@_quiet
def compared(incomplete: str) -> Iterator[tuple[str, str]]:
    """Arguments of `compare`: run directories, directories of runs, scenario files."""
    yield from _directories(incomplete, "run.json", "run")
    yield from _files(incomplete, studies=False)


@_quiet
def templates(incomplete: str) -> Iterator[tuple[str, str]]:
    from windtunnel.scenario.templates import available

    for template in available().values():
        yield template.name, template.question


@_quiet
def handlers(incomplete: str) -> Iterator[tuple[str, str]]:
    from windtunnel.engine.find import find_engine
    from windtunnel.engine.query import handlers as ask

    for handler in ask(find_engine()):
        yield handler.name, handler.help


@_quiet
def sets(incomplete: str) -> Iterator[tuple[str, str]]:
    """Whole keys for --set: `server.ba` offers `server.batch.app_rx=`. After the sign, the values of a choice."""
    from windtunnel.scenario.keys import Scenario
    from windtunnel.scenario.reference import key_at

    name, sign, _ = incomplete.partition("=")
    if not sign:
        yield from _keys(Scenario, name.split("."), "")
        return
    key = key_at(tuple(part for part in name.split(".") if not part.isdigit()))
    for value in _CHOICE.findall(key.wanted) if key else ():
        yield f"{name}={value}", ""


def _keys(table: Any, typed: list[str], prefix: str) -> Iterator[tuple[str, str]]:
    """Every key below a table. The index of a list is the typed one, else 0."""
    from windtunnel.scenario.reference import keys_of

    for key in keys_of(table).values():
        if key.table is None:
            yield f"{prefix}{key.name}=", key.help
            continue
        inner, rest = f"{prefix}{key.name}.", typed[1:]
        if key.many:
            inner, rest = f"{inner}{rest[0] if rest and rest[0].isdigit() else 0}.", rest[1:]
        yield from _keys(key.table, rest, inner)


def _directories(incomplete: str, record: str, noun: str) -> Iterator[tuple[str, str]]:
    """Directories with a record, from runs/ if nothing was typed; other directories end in a slash."""
    places = [incomplete] if incomplete else ["runs/", ""]
    for directory in (path for place in places for path in _entries(place) if path.is_dir()):
        yield (str(directory), noun) if (directory / record).is_file() else (f"{directory}/", "")


def _files(incomplete: str, studies: bool) -> Iterator[tuple[str, str]]:
    from windtunnel.text_file import beginning

    for path in _entries(incomplete):
        if path.is_dir():
            yield f"{path}/", ""
        elif path.suffix == ".toml" and path.is_file():
            text, _ = beginning(path, _LONGEST)
            if ("[[factor]]" in text) == studies:
                yield str(path), text.partition("\n")[0].lstrip("# ") if text.startswith("#") else ""


def _entries(incomplete: str) -> list[Path]:
    """Entries of the directory typed so far; hidden names only after a typed dot."""
    directory, _, name = incomplete.rpartition("/")
    folder = Path(directory or ("/" if incomplete.startswith("/") else "."))
    entries = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in entries if path.name.startswith(name) and (name[:1] == "." or path.name[0] != "."))
