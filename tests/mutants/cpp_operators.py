"""Mutants of a C or C++ file: a table of regular expressions, one line at a time.

clang-format leaves a space on both sides of a binary operator and on one side only of a pointer's star, a reference's ampersand and a
template's bracket, so that these expressions tell them apart. What they get wrong does not compile, and is no mutant.
"""

import re
from collections.abc import Iterator
from functools import partial

from draw import Mutation


def _between_spaces(old: str, *new: str) -> list[tuple[str, str, str]]:
    return [(f"{old} to {each}", rf"(?<= ){re.escape(old)}(?= |$)", each) for each in new]


NUMBER = r"(?<![\w.'\"])(\d+)(?![\w.'\"])"
OPERATORS: list[tuple[str, re.Pattern[str], str]] = [
    (name, re.compile(pattern), replacement)
    for name, pattern, replacement in [
        *_between_spaces("<", "<=", ">="),
        *_between_spaces("<=", "<", ">"),
        *_between_spaces(">", ">=", "<="),
        *_between_spaces(">=", ">", "<"),
        *_between_spaces("==", "!="),
        *_between_spaces("!=", "=="),
        *_between_spaces("&&", "||"),
        *_between_spaces("||", "&&"),
        *_between_spaces("+", "-"),
        *_between_spaces("-", "+"),
        *_between_spaces("*", "/"),
        *_between_spaces("/", "*"),
        *_between_spaces("%", "/"),
        *_between_spaces("&", "|"),
        *_between_spaces("|", "&"),
        *_between_spaces("<<", ">>"),
        *_between_spaces(">>", "<<"),
        *_between_spaces("+=", "-=", "="),
        *_between_spaces("-=", "+=", "="),
        *_between_spaces("|=", "&=", "="),
        *_between_spaces("&=", "|=", "="),
        ("++ to --", r"\+\+", "--"),
        ("-- to ++", r"--", "++"),
        ("constant + 1", NUMBER, r"(\1 + 1)"),
        ("constant - 1", NUMBER, r"(\1 - 1)"),
        ("true to false", r"\btrue\b", "false"),
        ("false to true", r"\bfalse\b", "true"),
        ("not removed", r"(?<=[ (])!(?=[\w(])", ""),
        ("condition negated", r"\b(if|while) \((.+)\)(?= \{$)", r"\1 (!(\2))"),
        ("condition negated", r"\b(if|while) \(([^()]+)\)(?= [^{])", r"\1 (!(\2))"),
        ("min to max", r"\bmin\b(?=[(<])", "max"),
        ("max to min", r"\bmax\b(?=[(<])", "min"),
        ("call removed", r"^( +)(?!return|throw|static_assert|using)[\w.:>-]+\([^{}]*\);$", r"\1;"),
        ("assignment removed", r"^( +)[\w.>\[\]*-]+ [-+|&]?= [^{}]*;$", r"\1;"),
        ("jump removed", r"^( +)(?:break|continue|return);$", r"\1;"),
    ]
]
NOT_CODE = re.compile(r"//.*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"")


def cpp_mutations(text: str, line: int) -> Iterator[Mutation]:
    """Every mutation of this line."""
    lines = text.splitlines()
    code = lines[line - 1]
    if code.lstrip().startswith(("#", "*", "/*", "static_assert")):
        return
    covered = [match.span() for match in NOT_CODE.finditer(code)]
    for name, pattern, replacement in OPERATORS:
        for match in pattern.finditer(code):
            if any(first <= match.start() < last for first, last in covered):
                continue
            mutated = code[: match.start()] + match.expand(replacement) + code[match.end() :]
            yield name, partial("\n".join, [*lines[: line - 1], mutated, *lines[line:], ""])
