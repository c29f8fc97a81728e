"""What a diagnosis has with `--as axio`: the verdict of Axio's rule, and its section in the document."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, Field

from windtunnel.parts.axio.as_option import NAME
from windtunnel.parts.axio.rule import AxioVerdict
from windtunnel.results.document import Marked, Section, Sentence

DIAGNOSIS: dict[str, Any] = {NAME: (list[AxioVerdict] | None, Field(description="with --as axio"))}


def sections(diagnosis: BaseModel) -> Iterator[Section]:
    """A section if the rule was asked for."""
    if verdicts := getattr(diagnosis, NAME):
        yield Section("By Axio’s rule", [line for verdict in verdicts for line in _sentences(verdict)])


def _sentences(verdict: AxioVerdict) -> Iterator[Sentence]:
    yield Sentence(Marked(_words(verdict), strong=True))
    if verdict.rounding:
        yield Sentence(f"  {verdict.rounding}", tone="warning")
    yield from (Sentence(f"  Windtunnel: {line}") for line in verdict.ours)


def _words(verdict: AxioVerdict) -> str:
    head = f"Axio's rule, {verdict.side}: the most critical phase is {verdict.stage}"
    if verdict.contention is None or verdict.completion_us is None or verdict.stall_us is None:
        return f"{head}; no contention point"
    work = verdict.completion_us - verdict.stall_us
    sign = "<" if verdict.contention == "C1" else ">"
    return f"{head}, its completion {work:.3f} {sign} stall {verdict.stall_us:.3f} µs: {verdict.contention}"
