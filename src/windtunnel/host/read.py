"""Small readers of /proc and /sys. What cannot be read is None, never zero; lines are cut by `windtunnel.proc`."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of the facts: frozen, so that what a run recorded stays what was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Probe(Part):
    """The result of a trial on this machine."""

    works: bool
    reason: str | None = None


def text(path: Path) -> str | None:
    """The file's text without surrounding blanks, None when it cannot be read."""
    try:
        return path.read_bytes().decode(errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """The whole number that the file holds, None when there is none."""
    try:
        return int(text(path) or "")
    except ValueError:
        return None


def cpu_list(written: str | None) -> list[int]:
    """The kernel's "0-3,8" as [0, 1, 2, 3, 8]; nothing, or what is no such list ("(null)"), gives []."""
    cpus: list[int] = []
    for span in (written or "").split(","):
        first, _, last = span.strip().partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            continue
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus
