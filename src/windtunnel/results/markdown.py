"""A document as Markdown: tables as pipe tables, with all columns and unwrapped; what stands around them as plain lines.

Every text becomes one that stands for itself: what else a line has, as the bars of a table's row, comes from here.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from windtunnel.printing import one_line
from windtunnel.results.document import Bar, Block, Cell, Document, Marked, Panel, Rejected, Section, Sentence, Table

REJECTED = "rejected"
_SPELLED_OUT = [
    (re.compile(pattern), shown)
    for pattern, shown in (
        (r"[\\`*|~$]", r"\\\g<0>"),
        (r"(?<![^\W_])_|_(?![^\W_])", r"\_"),  # not one within a word
        (r"\](?=[(\[:])", r"]\\"),
        ("&", "&amp;"),
        (
            r"#(?=\d)",
            "#&#8203;",
        ),  # a space of no width: issues, and who is mentioned, are looked for in what has been rendered
        (r"(?i)(?<=GH)-(?=\d)", "&#45;"),
        ("<", "&lt;"),
        ("@", "@&#8203;"),
        ("://", "&#58;//"),
        (r"(?i)(www)\.", r"\1&#46;"),
    )
]
"""What stands in a text for something else than itself, wherever it is."""
_BEGINS = re.compile(r"(?:(?=[#>=+:-])|\d+(?=[.)](?:\s|$)))")
"""Before what makes a heading, a quotation, a list, a rule or the rule of a table of a line that begins with it."""


def render(document: Document) -> str:
    """The document as Markdown that ends with a line feed."""
    lines = [f"{_strong(document.title)}  "]
    lines += _plain_lines([*filter(None, [document.question, " · ".join(document.how)]), *document.emulated])
    lines += _plain_lines(f"note: {note}" for note in document.notes)
    lines += ["", *_blocks(document.blocks, rejected=False), ""]
    lines += _plain_lines(f"note: {footnote}" for footnote in document.footnotes)
    lines += _plain_lines(f"warning: {warning}" for warning in document.warnings)
    match document.verdict:
        case Panel() as panel:
            lines += _panel(panel)
        case Sentence() as sentence:
            lines += _plain_lines([sentence.text])
    lines += _plain_lines(f"{label} {path}" for label, path in document.files)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def _blocks(blocks: Sequence[Block], rejected: bool) -> Iterator[str]:
    for block in blocks:
        match block:
            case Sentence(detail=False) if block.text:
                yield from _plain_lines([f"{REJECTED}  {block.text}" if rejected else block.text])
            case Table(detail=False):
                yield from _table(block, rejected)
            case Panel():
                yield from _panel(block)
            case Rejected():
                yield from _blocks(block.blocks, rejected=True)
            case Section(terminal="titled" | "untitled") if body := list(_blocks(block.blocks, rejected)):
                yield ""
                if block.terminal == "titled":
                    yield f"{_strong(block.title)}  "
                yield from body


def _panel(panel: Panel) -> Iterator[str]:
    yield ""
    yield _strong(panel.title)
    yield ""
    mark = "• " if panel.itemized else ""
    yield from _plain_lines(f"{mark}{sentence.text}" for sentence in panel.sentences)


def _table(table: Table, rejected: bool) -> Iterator[str]:
    """With an empty line before and after: else it is no table but a part of the paragraph. A rejected one has a column for that."""
    columns = [column for column in table.columns if not any(isinstance(cell, Bar) for cell in column.cells)]
    if not columns:
        return
    marks = ["", "---", REJECTED] if rejected else []
    yield ""
    yield _row([*marks[:1], *(_text(column.head) for column in columns)])
    yield _row([*marks[1:2], *("---" if column.words else "---:" for column in columns)])
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield _row([*marks[2:], *map(_cell, cells)])
    yield ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    match cell:
        case str():
            return _text(cell)
        case Marked() | Sentence():
            return _text(cell.text)
        case Bar():
            return ""


def _plain_lines(texts: Iterable[str]) -> Iterator[str]:
    """Lines that are no more than their texts: two spaces keep their ends where they would be joined with the next ones."""
    for text in texts:
        plain = _text(text).strip()  # four spaces before it would make code of it
        if begins := _BEGINS.match(plain):
            plain = f"{begins[0]}\\{plain[begins.end() :]}"
        yield f"{plain}  "


def _strong(title: str) -> str:
    text = _text(title).strip()
    return f"**{text}**" if text else ""


def _text(text: str) -> str:
    """What a title or a label says is neither HTML nor a link, an image, code, or the mention of somebody."""
    shown = one_line(text)
    for pattern, instead in _SPELLED_OUT:
        shown = pattern.sub(instead, shown)
    return shown
