"""Sentences that readers see: patterns that have to be read twice stay out of pages, and no text names a page by its path in a checkout."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCE = CHECKOUT / "src/windtunnel"
PAGES = sorted(
    [*CHECKOUT.glob("docs/**/*.md"), *(CHECKOUT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md"))]
)
NOT_READ = ("docs/reference/glossary.md", "docs/measurements/")
"""What lists words that are not used, and dated notes."""

COUNTED = "bytes|copies|cycles|lines?|messages|ns|objects|packets|queues|requests|responses|rows?|runs|tenants|ticks|times|trips"
PER = "application|block|burst|call|connection|core|doorbell|load|message|packet|point|port|queue|request|second|side|window"
PATTERNS = {
    r"(?:^|[.!?|] |- )Of (?!course\b)[a-z`]": "begin with the subject",
    rf"\b(?:{COUNTED}) an? (?:{PER})\b": "per",
    r"\bin words\b": "with a message",
    r"\b[Ll]ikewise\b": "say it again, or: in the same way",
    r"\bours\b": "Windtunnel's",
    r"\bin vain\b": "without effect",
    r"\breckon": "assume",
    r"\bin earnest\b": "really",
    r"\b(?:anew|afresh)\b": "again",
    r"\ball the same\b": "nevertheless",
    r"\bfor want of\b": "why, or: without",
    r"\b(?:nobody|everybody)'s\b": "say who",
    r"\bso manieth\b": "every Nth",
}
"""What has to be read twice -> what to say instead."""

PATH = re.compile(r"docs/[a-z-]+/[a-z-]+\.md")


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page outside its code, by number."""
    in_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, re.sub(r"`[^`]*`", "`x`", line)


def offences(page: Path) -> list[str]:
    return [
        f'{page}:{number}: "{found[0].strip(" .|-")}": {instead}'
        for number, line in prose(page)
        for pattern, instead in PATTERNS.items()
        for found in re.finditer(pattern, line)
    ]


def names(page: Path) -> str:
    return str(page.relative_to(CHECKOUT))


@pytest.mark.parametrize("page", [page for page in PAGES if not names(page).startswith(NOT_READ)], ids=names)
def test_a_page_has_no_pattern_that_is_read_twice(page):
    assert not (found := offences(page)), "\n".join(found)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("Of a tie the first worker has less slack.", 1),
        ("It is so. Of the rest nothing is known.", 1),
        ("| Of responses every byte | 20 packets a second |", 2),
        ("It is refused in words, and likewise the other one.", 2),
        ("`Of a tie` is quoted, and of course a burst of packets is none of these.", 0),
        ("Packets per second. A packet of ours is lost: a second one follows.", 1),
    ],
)
def test_the_patterns_find_what_they_are_for(tmp_path, line, count):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{line}\n\n```\nOf a tie, in words\n```\n")
    found = offences(page)
    assert len(found) == count and all(each.startswith(f"{page}:3: ") for each in found)


def shown_texts(file: Path) -> Iterator[tuple[int, str]]:
    """The strings of a Python file that a user may see, by line: docstrings of functions alone that take options are help."""
    tree = ast.parse(file.read_text())
    hidden = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            if is_text and not (isinstance(node, ast.FunctionDef) and "typer." in ast.unparse(node.args)):
                hidden.add(id(each.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.lineno, node.value


@cache
def texts_of_the_wheel() -> list[tuple[str, str]]:
    """Each with its place."""
    texts = [
        (f"{file.relative_to(CHECKOUT)}:{line}", text)
        for file in SOURCE.rglob("*.py")
        for line, text in shown_texts(file)
    ]
    for file in SOURCE.rglob("*.html"):
        lines = enumerate(file.read_text().splitlines(), 1)
        texts += [(f"{file.relative_to(CHECKOUT)}:{number}", line) for number, line in lines]
    assert len(texts) > 5000, "they were read"
    return texts


def test_no_text_names_a_page_by_a_path_that_a_wheel_lacks():
    """A string that is only a path names a file to write; a sentence names a page by its title."""
    found = [
        f"{place}: {text[:120]}"
        for place, text in texts_of_the_wheel()
        if PATH.search(text) and not PATH.fullmatch(text)
    ]
    assert not found, "\n".join(found)


def test_a_page_that_is_named_by_its_title_is_there():
    titles = {page.read_text().partition("\n")[0].removeprefix("# ") for page in CHECKOUT.glob("docs/**/*.md")}
    named = [
        (place, title)
        for place, text in texts_of_the_wheel()
        for title in re.findall(r'page ["“]([^"”{]+)["”]', text)
        if title[:1].isupper()
    ]
    assert len(named) >= 15
    assert not [f"{place}: {title}" for place, title in named if title not in titles]


def test_no_help_of_the_engine_names_a_page_by_its_path():
    strings = re.compile(r'"(?:\\.|[^"\\\n])*"')
    files = [*CHECKOUT.glob("engine/**/*.c"), *CHECKOUT.glob("engine/**/*.cc")]
    found = [
        f"{file.relative_to(CHECKOUT)}: {text}"
        for file in files
        for line in file.read_text().splitlines()
        if "_Static_assert" not in line and not line.lstrip().startswith("#include")
        for text in strings.findall(line)
        if PATH.search(text)
    ]
    assert files and not found, "\n".join(found)
