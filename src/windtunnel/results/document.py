"""What a command shows, before it is rendered.

A document is a verdict, sentences, tables, charts as data, and details. Who makes one knows a capability and no medium. The renderers
(`terminal`, `page`, `markdown`, `notebook`) know these blocks and no capability: what stands in one of them stands in all, except for what a
medium has no room for, which each block says.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import isnan
from typing import Any, Literal, TypeVar

Tone = Literal["plain", "quiet", "good", "warning", "bad", "emulated", "subject", "waits", "loss"]
"""What a text is, and never how it looks: that is the renderer's."""


@dataclass(frozen=True)
class Marked:
    """A text with a tone. `strong`: it stands out, whatever its tone."""

    text: str
    tone: Tone = "plain"
    strong: bool = False


@dataclass(frozen=True)
class Bar:
    """A cell that is drawn: shares of a whole with their tones. Where nothing can be drawn it is left out."""

    shares: tuple[tuple[float, Tone], ...]
    cells: int = 8
    """Its length in a terminal, and in proportion on a page."""

    @property
    def drawn(self) -> list[tuple[float, Tone]]:
        """The shares as they can be drawn, whatever numbers a record has: each from 0 to 1, all of them at most 1."""
        rest, parts = 1.0, []
        for share, tone in self.shares:
            part = 0.0 if isnan(share) else min(max(share, 0.0), rest)
            rest -= part
            parts.append((part, tone))
        return parts


@dataclass(frozen=True, init=False)
class Sentence:
    """One line of words, of parts with tones of their own. As a cell of a table only its parts count."""

    parts: tuple[Marked, ...]
    detail: bool
    """Only on pages."""
    unwrapped: bool
    """A terminal breaks it into no lines, so that a command in it can be copied."""

    def __init__(self, *parts: str | Marked, tone: Tone = "plain", detail: bool = False, unwrapped: bool = False):
        """`tone`: of the parts that are plain strings."""
        object.__setattr__(self, "parts", tuple(Marked(p, tone) if isinstance(p, str) else p for p in parts))
        object.__setattr__(self, "detail", detail)
        object.__setattr__(self, "unwrapped", unwrapped)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


Cell = str | Marked | Sentence | Bar


@dataclass(frozen=True)
class Column:
    """A column and its cells, one a row."""

    head: str
    cells: Sequence[Cell]
    spare: int = 0
    """If there is no room, the column with the highest value is dropped first; 0 stays."""
    width: int = 0
    """Least width in cells of a terminal, so that the columns of a live table stay where they are."""
    words: bool = False
    """Words are aligned left and may wrap. Numbers are aligned right and may not."""


@dataclass(frozen=True)
class Table:
    """Columns with equally many cells. A group of rows begins at each row in `groups`. If no column has a head, there is no line of heads."""

    columns: Sequence[Column]
    groups: Iterable[int] = ()
    detail: bool = False
    """Only on pages, where it can be scrolled by."""
    is_main: bool = False
    """The table that a notebook shows; without one the first table."""

    @property
    def rows(self) -> int:
        return len(self.columns[0].cells) if self.columns else 0

    @property
    def headed(self) -> bool:
        return any(column.head for column in self.columns)


@dataclass(frozen=True)
class Panel:
    """Sentences that must not be missed, with a title: a verdict with its reasons."""

    title: str
    sentences: Sequence[Sentence]
    tone: Tone = "plain"
    itemized: bool = False
    """Each sentence is an item of a list."""


@dataclass(frozen=True)
class Chart:
    """A plot as plain JSON of plotly, for pages. Colours are names of the style sheet's variables, and texts from users are escaped."""

    plot: dict[str, Any]
    about: str = ""
    """A caption below it."""


@dataclass(frozen=True)
class Facts:
    """Labels with their values, for pages."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Listing:
    """A text as it is, as of a file, for pages."""

    text: str


@dataclass(frozen=True)
class Headlines:
    """The numbers that a reader looks for first, each with what it is, for pages and notebooks."""

    numbers: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fold:
    """Details that a page unfolds when they are asked for."""

    title: str
    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Rejected:
    """Metrics of an invalid run: what it holds is shown, and marked as rejected in each line."""

    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Section:
    """Blocks that belong together. Its title and what it is about are for pages and Markdown; a terminal's tables say in their first head
    what they are of."""

    title: str
    blocks: Sequence["Block"]
    about: str = ""
    terminal: Literal["titled", "untitled", "absent"] = "untitled"


Block = Table | Sentence | Panel | Chart | Facts | Listing | Headlines | Fold | Rejected | Section


@dataclass(frozen=True)
class Document:
    """What one command has to show."""

    kind: str
    """As in "run", "study": after the product's name, above the title."""
    title: str
    blocks: Sequence[Block]
    at: datetime | None = None
    question: str | None = None
    verdict: Sentence | Panel | None = None
    """The last thing in a terminal, next to the prompt, and the first one on a page."""
    how: Sequence[str] = ()
    """How it was made, in a few words each."""
    emulated: Sequence[str] = ()
    notes: Sequence[str] = ()
    """Below the title."""
    warnings: Sequence[str] = ()
    """Next to the verdict in a terminal, below the title on a page. Each says what to do."""
    footnotes: Sequence[str] = ()
    """What needs no action: before the warnings in a terminal, at the end of a page."""
    files: Sequence[tuple[str, str]] = ()
    """What was written, and where: for terminals."""
    made_from: str = field(default="", kw_only=True)
    """The last sentence of a page."""


Row = TypeVar("Row")


def columns_of(rows: Sequence[Row]) -> Callable[..., Column]:
    """Makes a column by what it shows of each of these rows: `column(head, show, **layout)`."""

    def column(head: str, show: Callable[[Row], Cell], **layout: Any) -> Column:
        return Column(head, [show(row) for row in rows], **layout)

    return column


def groups_of(keys: Sequence[Any]) -> list[int]:
    """The rows at which another key begins, the first row included."""
    return [n for n, key in enumerate(keys) if n == 0 or key != keys[n - 1]]


def first_of_group(keys: Sequence[str]) -> list[str]:
    """Each key where it begins, and an empty cell below it."""
    begins = set(groups_of(keys))
    return [key if n in begins else "" for n, key in enumerate(keys)]
