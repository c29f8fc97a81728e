"""A ladder in words and tables: its levels, the caches that the kernel reports, and every size."""

from rich.console import Group
from rich.text import Text

from windtunnel.format import DASH, number, size
from windtunnel.host.caches import Cache
from windtunnel.host.ladder import Ladder, Level
from windtunnel.views.terminal.columns import Column, Fitting

APART = 1.5
"""Ratio above which a measured and a reported size count as different."""
_BAR = 40


def ladder_view(ladder: Ladder) -> Group:
    """What `windtunnel host ladder` prints."""
    return Group(_rungs(ladder), Text(), _levels(ladder), Text(), *map(Text, notes(ladder)))


def notes(ladder: Ladder) -> list[str]:
    """Sentences: where reported and measured sizes disagree, and the pages of the memory."""
    said = [*disagreements(ladder), _pages(ladder)]
    if not ladder.steps():
        said.append("one level only: no level ends below --most; a larger --most shows more")
    return said


def disagreements(ladder: Ladder) -> list[str]:
    """One sentence for each reported cache without a measured level; one sentence if all have one."""
    if not ladder.reported:
        return ["the kernel reports no caches"]
    apart = [cache for cache in ladder.reported if not _agrees(cache, ladder)]
    said = [f"reported L{cache.level} {size(cache.bytes)}: {_nearest(cache, ladder)}" for cache in apart]
    return said or ["every reported cache size agrees with a measured level"]


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


def _levels(ladder: Ladder) -> Fitting:
    nearest = [_reported(level, ladder.reported) for level in ladder.levels]
    return Fitting(
        [
            Column("level", [str(n + 1) for n in range(len(ladder.levels))]),
            Column("ns per load", [number(level.ns) for level in ladder.levels]),
            Column("up to", [size(level.bytes) for level in ladder.levels]),
            Column("reported there", nearest, words=True),
        ]
    )


def _reported(level: Level, caches: list[Cache]) -> str:
    if level.bytes is None:
        return DASH
    there = [c for c in caches if c.bytes / APART <= level.bytes <= c.bytes * APART]
    return ", ".join(f"L{c.level} {size(c.bytes)}" for c in there) or DASH


def _rungs(ladder: Ladder) -> Fitting:
    most = max(rung.ns for rung in ladder.rungs)
    shown = ladder.rungs[::2]
    return Fitting(
        [
            Column("bytes", [size(rung.bytes) for rung in shown]),
            Column("ns per load", [number(rung.ns) for rung in shown]),
            Column("worst round", [number(rung.most_ns) for rung in shown], spare=2),
            Column("", ["▇" * max(1, round(_BAR * rung.ns / most)) for rung in shown], spare=1, words=True),
        ]
    )
