"""Reads a scenario file: TOML, the command line's changes, keys and values, and checks across keys."""

import difflib
import hashlib
import re
from importlib import resources
from pathlib import Path as File
from typing import Any

from pydantic import ValidationError

from windtunnel.errors import UserError, as_argument
from windtunnel.scenario import toml
from windtunnel.scenario.checks import check
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.overrides import apply, parse_overrides
from windtunnel.scenario.reference import Key, key_at, keys_of, table_at
from windtunnel.scenario.refusal import Path, Refusal, Source, dotted, shown
from windtunnel.scenario.table import Table
from windtunnel.scenario.wires import read_options
from windtunnel.text_file import NOT_QUOTED, NOT_QUOTED_REMEDY, quotable, read_text

MAX_FILE_BYTES = 64 << 10
SUFFIX = ".toml"
UNQUOTED = re.compile(r"\s*([\w.-]{1,64})\s*=\s*([0-9.]{0,32} ?[A-Za-z_/]{1,32})\s*(?:#.*)?", re.ASCII)


def load(path: str | File, sets: list[str] | None = None, digest: str | None = None) -> Scenario:
    """The scenario in a file with `--set` changes applied, checked as far as no host is needed. `digest`: of the only text that is meant.

    Raises UserError that names file and line, or the --set, the error and the remedy.
    """
    file = located(path)
    text = read_scenario(file)
    if digest is not None and digest_of(text) != digest:
        raise UserError(f"{file}: has changed since it was checked", remedy="look at it again")
    return scenario_of(file, text, sets)


def digest_of(text: str) -> str:
    """By which who has checked a text says to a process of theirs which one that was: the file may be another user's."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def scenario_of(file: File, text: str, sets: list[str] | None = None, named_in: File | None = None) -> Scenario:
    """The scenario that a text means in the place of `file`, which need not be written yet. `named_in`: the directory of the file that names it;
    None: the user does. Raises UserError as `load` does."""
    data = parsed(file, text, named_in)
    if "factor" in data and "workload" not in data:
        raise UserError(f"{file}: a study, not a scenario", remedy=f"windtunnel study {as_argument(file)}")
    overrides = parse_overrides(sets or [])
    source = Source(file, text, overrides, named_in)
    try:
        for override in overrides:
            apply(override, data)
        scenario = _validate(data)
        scenario._source, scenario._question = source, question_of(text)
        read_options(scenario, refusal_of)
        check(scenario)
    except Refusal as refusal:
        raise source.reading_error(refusal) from None
    if not scenario.title:
        scenario = scenario.model_copy(update={"title": file.stem[:200]})
    return scenario


def located(path: str | File) -> File:
    """The shipped scenario if a word alone names one, else the file. Who names a shipped one means no file of the working directory, where
    others may have put one: such a file is named with its suffix or its directory."""
    file = File(path)
    if file.name != str(path) or file.suffix:
        return file
    shipped = resources.files("windtunnel") / "templates" / f"{file}.toml"
    return File(str(shipped)) if shipped.is_file() else file


def check_name_of_text(file: File) -> None:
    """For commands that take a directory of results or a scenario: who names a directory that somebody sent means to run nothing, whatever
    came in its place. Raises UserError for a file whose name does not end in .toml."""
    if file.exists() and file.suffix != SUFFIX:
        message = f"{file}: not a directory, and the name of a scenario or study ends in {SUFFIX}"
        raise UserError(message, remedy="a directory of results, or a file with such a name")


def read_scenario(file: File) -> str:
    """The text of a scenario's file. Raises UserError."""
    if (file / "run.json").is_file():
        raise UserError(f"{file}: a run directory, not a scenario", remedy=f"windtunnel show {as_argument(file)}")
    return read_text(file, MAX_FILE_BYTES, "name a scenario file, as in scenarios/echo.toml")


def parsed(file: File, text: str, named_in: File | None = None) -> dict[str, Any]:
    """The TOML of a file. `named_in`: as `scenario_of` has it. Raises UserError with file and line, and clear messages for common mistakes."""
    try:
        return toml.parse(text)
    except toml.Fault as fault:
        if not quotable(file, named_in or file.parent):
            raise UserError(f"{file}:{fault.line}: {NOT_QUOTED}", remedy=NOT_QUOTED_REMEDY) from None
        what, remedy = _toml_words(fault.what, text.split("\n")[fault.line - 1]) or (fault.what, fault.remedy)
        raise UserError(f"{file}:{fault.line}: {what}", remedy=remedy) from None


def _toml_words(what: str, line: str) -> tuple[str, str] | None:
    """Message and remedy for common mistakes: a quantity without quotes, and a key that is given twice."""
    if bare := UNQUOTED.fullmatch(line):
        key, value = bare.groups()
        return f"{key}: {value} has no quotes", f'{key} = "{value}"'
    if what == "cannot overwrite a value":
        return "the key or table is given twice", "keep one of them"
    return None


def _validate(data: dict[str, Any]) -> Scenario:
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        first, *more = error.errors(include_url=False)
        refusal = refusal_of(first)
        if more:
            refusal.what += f" (the first of {len(more) + 1} errors)"
        raise refusal from None


def refusal_of(error: Any, root: type[Table] = Scenario, file: str = "the scenario") -> Refusal:
    """pydantic's error in our words. `root` is the model of the file, and `file` what it is called."""
    path: Path = error["loc"]
    name, kind = dotted(path), error["type"]
    if kind == "extra_forbidden":
        return _unknown_key(path, root, file)
    if kind == "too_long" and (most := error["ctx"]["max_length"]):
        return Refusal(path, f"{name}: more than {most} entries", f"at most {most}")
    key = key_at(path, root)
    if key and key.table and kind in ("missing", "too_short", "list_type", "model_type"):
        what = "is missing" if kind in ("missing", "too_short") else f"is {shown(error['input'])}"
        return Refusal(
            path, f"{name} {what}", f"write {'at least one [[' if key.many else '['}{name}{']]' if key.many else ']'}"
        )
    wanted = f"it takes {key.wanted}{_unless_given(key)}" if key else ""
    if kind == "missing":
        return Refusal(path, f"{name} is missing", f"{path[-1]} = {key.wanted}" if key else "")
    if kind == "value_error":
        return Refusal(path, f"{name}: {error['ctx']['error']}", wanted)
    if key and kind == "literal_error" and (close := _close(error["input"], re.findall(r'"([^"]+)"', key.wanted))):
        wanted = f"{close} {wanted}"
    return Refusal(path, f"{name} is {shown(error['input'])}", wanted)


def _unless_given(key: Key) -> str:
    return "" if key.default in ("", "required") else f"; default {key.default}"


def _close(name: Any, known: list[str]) -> str | None:
    close = difflib.get_close_matches(str(name), known, n=1)
    return f'did you mean "{close[0]}"?' if close else None


def _unknown_key(path: Path, root: type[Table], file: str) -> Refusal:
    *table, name = path
    known = list(keys_of(table_at(tuple(table), root) or root))
    where = f"[{dotted(tuple(table))}]" if table else file
    remedy = _close(name, known) or f"known keys: {', '.join(known)}"
    return Refusal(path, f'unknown key "{name}" in {where}', remedy)


def question_of(text: str) -> str:
    """The opening comment line, without its sign."""
    first = text.lstrip().split("\n", 1)[0]
    return first.lstrip("#").strip() if first.startswith("#") else ""
