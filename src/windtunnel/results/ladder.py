"""A cache-latency ladder as a document: its levels, the caches that the kernel reports, and every second size."""

from collections.abc import Sequence

from windtunnel.format import DASH, number, size
from windtunnel.host.caches import Cache
from windtunnel.host.ladder import Ladder, Level
from windtunnel.results.charts.ladder import latency_over_size
from windtunnel.results.document import Bar, Chart, Document, Section, Table, columns_of
from windtunnel.results.host import host_section

APART = 1.5
"""Ratio above which a measured and a reported size count as different."""
_BAR_CELLS = 40


def ladder_document(ladder: Ladder, files: Sequence[tuple[str, str]] = ()) -> Document:
    """What `windtunnel host ladder` shows."""
    return Document(
        kind="host ladder",
        title="Cache-latency ladder",
        question="How long does a load take on this machine, by the size of the memory?",
        at=ladder.measured,
        how=[
            f"CPU {ladder.cpu}",
            f"{ladder.rounds} round{'s' if ladder.rounds > 1 else ''}",
            f"{ladder.pages} pages",
        ],
        notes=notes(ladder),
        blocks=[
            Section(
                "Latency over size",
                [
                    Chart(
                        latency_over_size(ladder),
                        about="Lines of 64 bytes, linked into one cycle in random order and walked: each load waits for the one before it. "
                        "Disturbance only adds time, so the fastest round counts.",
                    ),
                    _rung_table(ladder),
                ],
            ),
            Section(
                "Levels",
                [_level_table(ladder)],
                about="Levels are found by change points in the logarithm of the latency. A level ends at the geometric mean of its latency and "
                "the next one.",
            ),
            host_section(ladder.host, {}),
        ],
        files=files,
        made_from="What the ladder is for: the page “How a model is fitted, and its errors” of the documentation.",
    )


def notes(ladder: Ladder) -> list[str]:
    """Sentences: which reported sizes disagree with the measured ones, and the pages of the memory."""
    sentences = [*disagreements(ladder), _pages(ladder)]
    if not ladder.steps():
        sentences.append("one level only: no level ends below --most; a larger --most shows more")
    return sentences


def disagreements(ladder: Ladder) -> list[str]:
    """One sentence for each reported cache without a measured level; one sentence if all have one."""
    if not ladder.reported:
        return ["the kernel reports no caches"]
    apart = [cache for cache in ladder.reported if not _agrees(cache, ladder)]
    sentences = [f"reported L{cache.level} {size(cache.bytes)}: {_nearest(cache, ladder)}" for cache in apart]
    return sentences or ["every reported cache size agrees with a measured level"]


def _agrees(cache: Cache, ladder: Ladder) -> bool:
    return any(cache.bytes / APART <= step <= cache.bytes * APART for step in ladder.steps())


def _nearest(cache: Cache, ladder: Ladder) -> str:
    if cache.bytes > ladder.rungs[-1].bytes:
        return f"larger than the ladder, which ends at {size(ladder.rungs[-1].bytes)}"
    if not ladder.steps():
        return "no level ends within the measured sizes"
    step = min(ladder.steps(), key=lambda step: max(step, cache.bytes) / min(step, cache.bytes))
    return f"no level ends there; the nearest one measured ends at {size(step)}"


def _pages(ladder: Ladder) -> str:
    if ladder.huge_bytes is None:
        return f"{ladder.pages} pages requested; the kernel does not report what it gave"
    share = min(1.0, ladder.huge_bytes / ladder.rungs[-1].bytes)
    return f"{ladder.pages} pages requested; {share:.0%} of the memory lay on transparent huge pages"


def _rung_table(ladder: Ladder) -> Table:
    most = max(rung.ns for rung in ladder.rungs)
    column = columns_of(ladder.rungs[::2])
    return Table(
        [
            column("bytes", lambda rung: size(rung.bytes)),
            column("ns per load", lambda rung: number(rung.ns, 2)),
            column("slowest round", lambda rung: number(rung.most_ns, 2), spare=2),
            column("", lambda rung: Bar(((rung.ns / most, "subject"),), _BAR_CELLS), spare=1, words=True),
        ]
    )


def _level_table(ladder: Ladder) -> Table:
    column = columns_of(list(enumerate(ladder.levels, start=1)))
    return Table(
        [
            column("level", lambda row: str(row[0])),
            column("ns per load", lambda row: number(row[1].ns, 2)),
            column("up to", lambda row: size(row[1].bytes)),
            column("reported there", lambda row: _reported(row[1], ladder.reported), words=True),
        ]
    )


def _reported(level: Level, caches: Sequence[Cache]) -> str:
    if level.bytes is None:
        return DASH
    there = [cache for cache in caches if cache.bytes / APART <= level.bytes <= cache.bytes * APART]
    return ", ".join(f"L{cache.level} {size(cache.bytes)}" for cache in there) or DASH
