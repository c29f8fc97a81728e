"""A document in a notebook: title, verdict, what must be known first, and the first table as HTML without scripts."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from windtunnel.results.document import Bar, Block, Cell, Document, Headlines, Panel, Rejected, Section, Sentence, Table

MOST_ROWS = 20
_NUMBER = ' style="text-align: right"'


def html(document: Document) -> str:
    """A `div` that a notebook shows."""
    shown = list(_shown(document.blocks, rejected=False))
    lines = [f"<b>{escape(document.title)}</b>", escape(" · ".join(document.how))]
    lines += [escape(sentence.text) for sentence in _verdict(document)]
    lines += [_headlines(block, rejected) for block, rejected in shown if isinstance(block, Headlines)]
    lines += [escape(f"{label} {path}") for label, path in document.files]
    told = [_panel(block) for block, _ in shown if isinstance(block, Panel)]
    told += [_items(document.warnings)] if document.warnings else []
    tables = sorted(((b, out) for b, out in shown if isinstance(b, Table)), key=lambda of: not of[0].is_main)
    table = _table(*tables[0]) if tables else ""
    return f"<div>{'<br>'.join(filter(None, lines))}{''.join(told)}{table}</div>"


def _panel(panel: Panel) -> str:
    return f"<br><b>{escape(panel.title)}</b>{_items(sentence.text for sentence in panel.sentences)}"


def _items(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def _verdict(document: Document) -> Sequence[Sentence]:
    match document.verdict:
        case Panel() as panel:
            return panel.sentences
        case Sentence() as sentence:
            return [sentence]
        case None:
            return []


def _shown(blocks: Iterable[Block], rejected: bool) -> Iterator[tuple[Block, bool]]:
    """Every block that is no detail, each with whether its metrics are rejected."""
    for block in blocks:
        match block:
            case Section(terminal="titled" | "untitled"):
                yield from _shown(block.blocks, rejected)
            case Rejected():
                yield from _shown(block.blocks, rejected=True)
            case Headlines() | Panel() | Table(detail=False):
                yield block, rejected


def _headlines(block: Headlines, rejected: bool) -> str:
    values = (
        (f"<s>{escape(value)}</s>" if rejected else escape(value), escape(label)) for value, label in block.numbers
    )
    return " · ".join(f"{value} {label}" for value, label in values)


def _table(table: Table, rejected: bool) -> str:
    columns = [column for column in table.columns if not any(isinstance(cell, Bar) for cell in column.cells)]
    heads = "".join(f"<th>{escape(column.head)}</th>" for column in columns)
    lines = []
    for cells in list(zip(*(column.cells for column in columns), strict=True))[:MOST_ROWS]:
        shown = (
            f"<td{'' if column.words else _NUMBER}>{_cell(cell, struck=rejected and not column.words)}</td>"
            for column, cell in zip(columns, cells, strict=True)
        )
        lines.append(f"<tr>{''.join(shown)}</tr>")
    more = "<br>and more rows" if table.rows > MOST_ROWS else ""
    head = f"<thead><tr>{heads}</tr></thead>" if table.headed else ""
    return f"<table>{head}<tbody>{''.join(lines)}</tbody></table>{more}"


def _cell(cell: Cell, struck: bool) -> str:
    text = escape(cell if isinstance(cell, str) else "" if isinstance(cell, Bar) else cell.text)
    return f"<s>{text}</s>" if struck else text
