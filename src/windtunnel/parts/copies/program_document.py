"""What a program copies, as a document: its sizes and threads, and from which size on a copier would pay."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import join
from textwrap import shorten
from typing import Any

from windtunnel import format as fmt
from windtunnel.parts.copies.costs import SIZES
from windtunnel.parts.copies.program_copies import ProgramCopies, SizeCounts, ThreadCounts, thread_share
from windtunnel.parts.copies.program_gain import CopierGain, Gain
from windtunnel.results.document import Bar, Document, Marked, Section, Sentence, Table, columns_of
from windtunnel.stats.mean import Estimate

MOST_COMMAND = 200
"""Characters of the command that are shown."""
MOST_THREADS = 20
"""Rows of threads, those that copied most; the others are one row."""
NOT_SEEN = (
    "not seen: copies that a compiler made inline (most of small, constant sizes), loops of the program's own and DPDK's rte_memcpy, those within "
    "the C library and the kernel, and children that start statically linked, with other rights, without LD_PRELOAD, or with another /proc"
)
TIMED = (
    "timed at random: of 1 MiB and more all, of 16 KiB and more one of 8, of others one of 64, each beside an empty measurement, which is taken "
    "out; the interval is of what this sampling leaves open"
)


def program_document(copies: ProgramCopies, gains: Sequence[CopierGain], assumed: Sequence[str]) -> Document:
    """What `windtunnel copies of` shows. `gains`: of each copier that was measured. `assumed`: figures of the modelled one that nobody has
    published."""
    return Document(
        kind="copies",
        title=f"What {Path(copies.command[0]).name} copies",
        verdict=Sentence(verdict(copies), tone="plain" if copies.copies else "warning"),
        emulated=_modelled(gains) if copies.copies else (),
        notes=_notes(copies, assumed),
        warnings=list(_warnings(copies)),
        footnotes=list(_footnotes(copies)),
        blocks=list(_sections(copies, gains)),
    )


def verdict(copies: ProgramCopies) -> str:
    """The answer in one sentence."""
    if not copies.processes:
        return f"{copies.command[0]} began without the library: nothing is known of its copies"
    if not copies.copies:
        return f"{copies.command[0]} called none of memcpy, memmove and mempcpy: if it copies, its compiler made the copies inline, or a child does that is not seen"
    whole = f"{fmt.count(copies.copies)} copies of {fmt.size(copies.bytes)}"
    if copies.share is None:
        return f"{whole}; the share of CPU time is not known: {_unknown_share(copies)}"
    return f"{whole} took {_share(copies.share)} of the CPU time of {fmt.duration((copies.cpu_s or 0) * 1e9)}"


def as_json(copies: ProgramCopies, gains: Sequence[CopierGain], assumed: Sequence[str]) -> dict[str, Any]:
    """The same for programs."""
    ended = copies.ended
    return {
        "command": list(copies.command),
        "returncode": ended.returncode,
        "still_running": ended.still_running,
        "processes": copies.processes,
        "cpu_s": copies.cpu_s,
        "own_cpu_s": copies.own_s,
        "page_faults": ended.page_faults,
        "share": _estimate(copies.share),
        "copies": copies.copies,
        "bytes": copies.bytes,
        "calls": copies.calls,
        "early_copies": copies.early,
        "threads_without_row": copies.rows_missing,
        "sizes": [_size_json(size) for size in copies.sizes],
        "threads": [
            {
                "process": thread.process,
                "thread": thread.thread or None,
                "program": thread.program,
                "name": thread.name,
                "cpu_ns": thread.cpu_ns,
                "copies": thread.copies,
                "bytes": thread.bytes,
                "share": _estimate(thread_share(thread)),
                "sizes": [_size_json(size) for size in thread.sizes],
            }
            for thread in copies.threads
        ],
        "copiers": [_gain_json(gain, copies) for gain in gains],
        "notes": _notes(copies, assumed),
    }


def _notes(copies: ProgramCopies, assumed: Sequence[str]) -> list[str]:
    command = shorten(join(copies.command), MOST_COMMAND, placeholder="...")
    return [f"command: {command}", TIMED, NOT_SEEN, *(f"assumed: {text}" for text in assumed)]


def _size_json(size: SizeCounts) -> dict[str, Any]:
    return {
        "least_bytes": size.least_bytes,
        "copies": size.copies,
        "bytes": size.bytes,
        "source_on_line": size.source_on_line,
        "destination_on_line": size.destination_on_line,
        "source_on_page": size.source_on_page,
        "destination_on_page": size.destination_on_page,
        "overlapping": size.overlapping,
        "timed": size.timed_copies,
        "interrupted": size.interrupted,
        "ns_per_copy": size.ns_per_copy,
    }


def _gain_json(gain: CopierGain, copies: ProgramCopies) -> dict[str, Any]:
    copier = gain.measured.copier
    return {
        "copier": copier.engine,
        "kind": copier.kind,
        "device": copier.device,
        "costs": [
            {
                "least_bytes": cost.size.least_bytes,
                "program_ns": cost.program,
                "program_least_ns": cost.program_least,
                "caller_ns": cost.caller,
                "whole_ns": cost.whole,
            }
            for cost in gain.costs
        ],
        **{
            name: {"from_bytes": of.from_bytes, "freed_ns": of.freed_ns, "freed_share": _freed_share(of, copies)}
            for name, of in (("waiting", gain.waiting), ("working", gain.working))
        },
    }


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    return None if estimate is None else {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}


def _sections(copies: ProgramCopies, gains: Sequence[CopierGain]) -> Iterator[Section]:
    if not copies.copies:
        return
    yield Section("Sizes", [_sizes(copies)])
    yield Section("Threads", [_threads(copies)])
    if gains:
        yield Section(
            "Would a copier pay?",
            [_gains(copies, gains), *(Sentence(text) for gain in gains for text in gain_sentences(gain))],
        )


def _sizes(copies: ProgramCopies) -> Table:
    whole_ns = sum(_ns(size) for size in copies.sizes)
    column = columns_of(copies.sizes)
    return Table(
        [
            column("size from", lambda size: fmt.size(size.least_bytes)),
            column("copies", lambda size: fmt.count(size.copies)),
            column("of all", lambda size: fmt.percent(size.copies / copies.copies)),
            column("", lambda size: Bar(((size.copies / copies.copies, "plain"),)), spare=4),
            column("bytes", lambda size: fmt.size(size.bytes)),
            column("ns per copy", lambda size: fmt.number(size.ns_per_copy, 0)),
            column("of the time", lambda size: fmt.percent(_ns(size) / whole_ns if whole_ns else None)),
            column("source on line", lambda size: fmt.percent(size.source_on_line / size.copies, 0), spare=2),
            column("page", lambda size: fmt.percent(size.source_on_page / size.copies, 0), spare=3),
            column("destination on line", lambda size: fmt.percent(size.destination_on_line / size.copies, 0), spare=2),
            column("page", lambda size: fmt.percent(size.destination_on_page / size.copies, 0), spare=3),
            column("overlapping", lambda size: fmt.count(size.overlapping), spare=1),
        ],
        is_main=True,
    )


def _ns(size: SizeCounts) -> float:
    """Of all copies of a size; 0 if too few were timed."""
    return (size.ns_per_copy or 0.0) * size.copies


def _threads(copies: ProgramCopies) -> Table:
    shown = copies.threads[:MOST_THREADS]
    rest = copies.threads[MOST_THREADS:]
    rows = [*shown, *([_rest(rest)] if rest else ())]
    column = columns_of(rows)
    return Table(
        [
            column("thread", lambda thread: Marked(thread.name, "subject"), words=True),
            column("program", lambda thread: thread.program, words=True, spare=1),
            column("process", lambda thread: str(thread.process) if thread.process else fmt.DASH, spare=2),
            column("copies", lambda thread: fmt.count(thread.copies)),
            column("bytes", lambda thread: fmt.size(thread.bytes)),
            column("of all bytes", lambda thread: fmt.percent(thread.bytes / copies.bytes if copies.bytes else None)),
            column("CPU time in copies", lambda thread: _share_or_dash(thread_share(thread))),
        ]
    )


def _rest(threads: Sequence[ThreadCounts]) -> ThreadCounts:
    """The counts of threads that have no row; what it takes no table needs."""
    sizes = tuple(size for thread in threads for size in thread.sizes)
    return ThreadCounts(0, 0, "", f"{fmt.count(len(threads))} others", 0, (), 0.0, sizes)


def _gains(copies: ProgramCopies, gains: Sequence[CopierGain]) -> Table:
    column = columns_of(gains)
    return Table(
        [
            column("copier", lambda gain: Marked(_name(gain), "subject", strong=True), words=True),
            column("if it waits, from", lambda gain: _from(gain, gain.waiting)),
            column("CPU time freed", lambda gain: fmt.percent(_freed_share(gain.waiting, copies))),
            column("if it works on, from", lambda gain: _from(gain, gain.working)),
            column("CPU time freed", lambda gain: fmt.percent(_freed_share(gain.working, copies))),
        ]
    )


def gain_sentences(gain: CopierGain) -> Iterator[str]:
    """What the row of a copier means for somebody who has the program."""
    name, waiting, working = _name(gain), gain.waiting.from_bytes, gain.working.from_bytes
    if not gain.costs:
        yield f"{name}: no size from {fmt.size(SIZES[0])} on was timed often enough to compare with it"
        return
    loses = "is not shown to gain with it at any size"
    if gain.measured.is_loop:
        yield f"{name}: a loop of the CPU: the program {loses if waiting is None else f'gains from {fmt.size(waiting)} on'}"
        return
    dto = f"gains from {fmt.size(waiting)} on (DTO_MIN_BYTES={waiting})"
    yield f"{name}: a program that waits for each copy, as with Intel's DTO, {loses if waiting is None else dto}"
    gains = f"gains from {fmt.size(working)} on"
    yield f"{name}: a program that works on while it copies {loses if working is None else gains}"


def _name(gain: CopierGain) -> str:
    copier = gain.measured.copier
    return f"{copier.device}, modelled" if copier.kind == "modelled" else copier.engine


def _from(copier: CopierGain, gain: Gain) -> str:
    if not copier.costs:
        return fmt.DASH
    return "no size" if gain.from_bytes is None else fmt.size(gain.from_bytes)


def _freed_share(gain: Gain, copies: ProgramCopies) -> float | None:
    """None: nothing is freed, or the CPU time is not known."""
    return None if copies.cpu_s is None or gain.from_bytes is None else gain.freed_ns / 1e9 / copies.cpu_s


def _share(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{fmt.percent(estimate.mean)} (too few were timed for an interval)"
    return f"{fmt.percent(estimate.mean)} ({fmt.percent(estimate.low)} to {fmt.percent(estimate.high)})"


def _share_or_dash(estimate: Estimate | None) -> str:
    return fmt.DASH if estimate is None else _share(estimate)


def _unknown_share(copies: ProgramCopies) -> str:
    if copies.ended.still_running:
        return "processes of it still run"
    return "it ended too soon" if copies.cpu_s is None else "too few copies were timed"


def _modelled(gains: Sequence[CopierGain]) -> list[str]:
    """A label, and every assumption, of each engine that is modelled."""
    names = [gain.measured.copier.device for gain in gains if gain.measured.copier.kind == "modelled"]
    return [f"modelled: the costs of {name}, by its profile" for name in names]


def _warnings(copies: ProgramCopies) -> Iterator[str]:
    ended = copies.ended
    if ended.returncode and not ended.asked_to_end:
        how = f"by signal {-ended.returncode}" if ended.returncode < 0 else f"with {ended.returncode}"
        yield f"{copies.command[0]} ended {how}: see its own output"
    if ended.still_running:
        yield "processes of it still run: they are counted up to now"
    if copies.rows_missing:
        yield f"threads that found no row of their own, and are one row together: {fmt.count(copies.rows_missing)}"


def _footnotes(copies: ProgramCopies) -> Iterator[str]:
    if copies.copies and copies.cpu_s:
        own = copies.own_s / (copies.own_s + copies.cpu_s)
        yield f"counting took {fmt.percent(own)} of the CPU time, which is taken out of it"
        faults = fmt.count(copies.ended.page_faults)
        yield f"page faults of the program: {faults}; those within copies are in their time, and no copier saves them"
    if interrupted := sum(size.interrupted for size in copies.sizes):
        yield f"timed copies that were interrupted, and are in no time: {fmt.count(interrupted)}"
    if copies.early:
        yield f"copies before the library was ready, which are in no other number: {fmt.count(copies.early)}"
