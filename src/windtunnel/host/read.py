"""Small readers of /proc and /sys. A value that cannot be read is None, never zero; `windtunnel.proc` splits lines."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of the facts. It is frozen, so that a record cannot change after it was read."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class Probe(Part):
    """The result of a trial on this machine."""

    works: bool
    reason: str | None = None


def text(path: Path) -> str | None:
    """The file's text without surrounding blanks; None if it cannot be read."""
    try:
        return path.read_bytes().decode(errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """The integer in the file; None if there is none."""
    try:
        return int(text(path) or "")
    except ValueError:
        return None


def cpu_list(kernel_text: str | None) -> list[int]:
    """The kernel's "0-3,8" as [0, 1, 2, 3, 8]; a missing or malformed list ("(null)") gives []."""
    cpus: list[int] = []
    for span in (kernel_text or "").split(","):
        first, _, last = span.strip().partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            continue
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus
