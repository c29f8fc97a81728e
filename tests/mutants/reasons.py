"""Why some mutants may survive."""

import re
import tomllib
from pathlib import Path

from mutant import Mutant, one_line

KEYS = {"file", "line", "mutation", "reason"}


PART = re.compile(r"(?:engine|src/windtunnel)/parts/[^/]+")
"""The folder of a part, which may have been taken out."""


class Reasons:
    """Raises SystemExit for an entry that says too little, or whose line is not in its file."""

    def __init__(self, file: Path, checkout: Path) -> None:
        self._by_change: dict[tuple[str, str, str], str] = {}
        for entry in tomllib.loads(file.read_text()).get("survivor", []):
            if set(entry) != KEYS or not all(entry.values()):
                raise SystemExit(f"{file}: an entry has {', '.join(sorted(KEYS))}; this one is {entry}")
            part = PART.match(entry["file"])
            if part and not (checkout / part[0]).is_dir():
                continue
            source = checkout / entry["file"]
            if not source.is_file() or entry["line"] not in map(str.strip, source.read_text().splitlines()):
                raise SystemExit(f"{file}: {entry['file']} has no line: {entry['line']}")
            change = one_line(entry["line"]), one_line(entry["mutation"])
            self._by_change[entry["file"], *change] = entry["reason"]

    def of(self, mutant: Mutant) -> str | None:
        return self._by_change.get((mutant.file, mutant.before, mutant.after))
