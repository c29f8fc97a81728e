"""A mutant: one small change of one line of a source file."""

import difflib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mutant:
    language: str
    file: str
    """Its path in the checkout."""
    line: int
    operator: str
    before: str
    after: str
    """The lines that differ, without indentation; empty where the mutant has none there."""
    text: str = field(repr=False, compare=False)
    """The whole file as the mutant has it."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def change(self) -> str:
        return f"{self.before} -> {self.after}"


def mutant_of(language: str, file: str, operator: str, original: str, text: str) -> Mutant:
    """`text`: the file with the mutation; it differs from the original."""
    old, new = original.splitlines(), text.splitlines()
    changes = [
        each for each in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if each[0] != "equal"
    ]
    _, first, _, new_first, _ = changes[0]
    _, _, last, _, new_last = changes[-1]
    before, after = " ".join(old[first:last]), " ".join(new[new_first:new_last])
    return Mutant(language, file, first + 1, operator, one_line(before), one_line(after), text)


def one_line(code: str) -> str:
    """With one space where there are more."""
    return " ".join(code.split())
