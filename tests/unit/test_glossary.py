"""Words: identifiers, help, messages, reports and documentation use the names of docs/reference/glossary.md."""

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
import typer

from windtunnel.cli.app import app

CHECKOUT = Path(__file__).resolve().parents[2]
GLOSSARY = CHECKOUT / "docs" / "reference" / "glossary.md"

NOT_READ = (
    "docs/reference/glossary.md",
    "CHANGELOG.md",
    "schemas/",
    "tests/unit/test_glossary.py",
)
"""What quotes old words on purpose, and what is generated from the rest."""

OF_A_PAPER = (
    "sharing/studies/pvcc/",
    "sharing/src/windtunnel_sharing/cli/reproduce.py",
    "sharing/tests/unit/test_reproduce.py",
    "sharing/tests/unit/test_verdicts.py",
)
"""Where a figure is one of a paper."""

NAMES_ALONE = ("tests/", "sharing/tests/", "bench/")
"""Nobody but their readers sees what these say; their texts quote what is refused."""

PYTHON, NATIVE, PROSE = {".py"}, {".c", ".cc", ".h"}, {".md", ".toml", ".html", ".sh"}


@dataclass(frozen=True)
class Word:
    text: str
    instead: str
    names: bool
    texts: bool
    files: bool
    phrases: tuple[str, ...]
    """What may contain the word all the same."""

    @cached_property
    def parts(self) -> set[str]:
        """Without which no text has it."""
        return _parts_of_all(self.text)

    def found_in_text(self, text: str) -> bool:
        return bool(_pattern(self).search(text)) and bool(_pattern(self).search(_without(text, self.phrases)))

    def found_in_name(self, name: str) -> bool:
        for phrase in self.phrases:
            name = name.replace(phrase, "")
        parts, wanted = _parts(name), self.text.replace(" ", "_").split("_")
        return any(parts[i : i + len(wanted)] == wanted for i in range(len(parts)))


@cache
def _pattern(word: Word) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w]){re.escape(word.text)}(?![\w])", re.IGNORECASE)


def _without(text: str, phrases: tuple[str, ...]) -> str:
    for phrase in phrases:
        text = re.sub(re.escape(phrase), "", text, flags=re.IGNORECASE)
    return text


@cache
def _parts(name: str) -> list[str]:
    """`no_place`, `noPlace` and `NoPlace` have the parts no and place."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def _parts_of_all(text: str) -> set[str]:
    """Of every name and every word in it."""
    tokens = set(re.findall(r"\w+", text))
    return {token.lower() for token in tokens}.union(*map(_parts, tokens))


def words() -> list[Word]:
    """The glossary's table of words that are not used."""
    table = GLOSSARY.read_text().split("## Words that are not used", 1)[1]
    found = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and cells[0].startswith("`"):
            where = {place.strip() for place in cells[2].split(",")}
            assert where <= {"names", "texts", "files"} and where, line
            phrases = tuple(re.findall(r"`([^`]+)`", cells[3]))
            for text in re.findall(r"`([^`]+)`", cells[0]):
                found.append(Word(text, cells[1], "names" in where, "texts" in where, "files" in where, phrases))
    return found


def sources() -> list[str]:
    """Every file of the checkout that is held to the words, relative to it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=CHECKOUT, check=False, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    known = PYTHON | NATIVE | PROSE
    return [
        name
        for name in listed.stdout.splitlines()
        if Path(name).suffix in known and not name.startswith(NOT_READ) and (CHECKOUT / name).is_file()
    ]


def offences(name: str, checked: list[Word]) -> Iterator[tuple[str, int, str]]:
    """Word, line and what has it."""
    stem, suffix, text = Path(name).stem, Path(name).suffix, (CHECKOUT / name).read_text()
    parts = _parts_of_all(f"{stem} {text}")
    checked = [word for word in checked if word.parts <= parts]  # a few of them: the others need no look
    yield from ((word.text, 0, name) for word in checked if (word.files or word.names) and word.found_in_name(stem))
    if not checked:
        return
    if suffix in PYTHON:
        names, texts = _python(text, docstrings=name.startswith(SHOWN))
    elif suffix in NATIVE:
        names, texts = _native(text)
    else:
        names, texts = {}, {number: line for number, line in enumerate(text.splitlines(), 1)}
    for word in checked:
        if word.names:
            yield from ((word.text, line, found) for found, line in names.items() if word.found_in_name(found))
        if word.texts and (suffix == ".md" or not name.startswith(NAMES_ALONE)):
            yield from ((word.text, line, said.strip()) for line, said in texts.items() if word.found_in_text(said))


SHOWN = ("src/windtunnel/cli/", "sharing/src/windtunnel_sharing/cli/", "src/windtunnel/library.py")
"""Where users read docstrings."""


def _python(text: str, docstrings: bool) -> tuple[dict[str, int], dict[int, str]]:
    """Names that a module defines -> line; line -> what its strings say."""
    names: dict[str, int] = {}
    texts: dict[int, str] = {}
    bare = set[int]()
    for node in ast.walk(ast.parse(text)):  # a statement comes before what is in it
        match node:
            case ast.Expr(value=inner):
                bare.add(id(inner))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.setdefault(node.name, node.lineno)
            case ast.arg():
                names.setdefault(node.arg, node.lineno)
            case ast.Name(ctx=ast.Store()):
                names.setdefault(node.id, node.lineno)
            case ast.Attribute(ctx=ast.Store()):
                names.setdefault(node.attr, node.lineno)
            case ast.Constant(value=str(value)) if docstrings or id(node) not in bare:
                for offset, line in enumerate(value.splitlines()):
                    texts[node.lineno + offset] = texts.get(node.lineno + offset, "") + " " + line
    return names, texts


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#include[^\n]*|[A-Za-z_]\w*', re.DOTALL
)


def _native(text: str) -> tuple[dict[str, int], dict[int, str]]:
    names: dict[str, int] = {}
    texts: dict[int, str] = {}
    for token in _TOKEN.finditer(text):
        found = token.group()
        if found.startswith(("//", "/*", "'", "#")):
            continue
        line = text.count("\n", 0, token.start()) + 1
        if found.startswith('"'):
            texts[line] = texts.get(line, "") + " " + found[1:-1]
        else:
            names.setdefault(found, line)
    return names, texts


def _allowed(name: str, word: str) -> bool:
    return word in ("figure", "figures") and name.startswith(OF_A_PAPER)


def test_the_table_is_read():
    texts = [word.text for word in words()]
    assert len(texts) == len(set(texts)) >= 40
    assert all(word.instead for word in words())


@pytest.mark.slow
def test_no_word_is_used_that_the_glossary_replaces():
    checked = words()
    found = [
        f'{name}:{line}: "{word}" in {said[:100]}'
        for name in sources()
        for word, line, said in offences(name, checked)
        if not _allowed(name, word)
    ]
    assert not found, f"{len(found)} words that docs/reference/glossary.md replaces:\n" + "\n".join(found[:200])


def helps(command: Any, path: str = "windtunnel") -> Iterator[tuple[str, str]]:
    """What --help of every command says."""
    with command.make_context(path, ["--help"], resilient_parsing=True) as context:
        yield path, command.get_help(context)
    for name, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{path} {name}")


def test_help_uses_the_words():
    checked = [word for word in words() if word.texts]
    found = [
        f"{path} --help: {word.text}"
        for path, text in helps(typer.main.get_command(app))
        for word in checked
        if word.found_in_text(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [("flight", "a_flight", True), ("flight", "in_flight", False), ("no_place", "count_no_place_calls", True)],
)
def test_words_are_found_in_names(text, name, expected):
    (word,) = (word for word in words() if word.text == text)
    assert word.found_in_name(name) is expected


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("flight", "the flight ended", True),
        ("flight", "64 messages in flight", False),
        ("land", "an island", False),
        ("held up", "a call that was held up", True),
    ],
)
def test_words_are_found_in_texts(text, said, expected):
    (word,) = (word for word in words() if word.text == text)
    assert word.found_in_text(said) is expected
