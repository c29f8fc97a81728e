"""include_circles.py [ROOT]: fails if what C and C++ files include goes round in a circle, and prints the circle.

There is none among modules, and none among rooms. A module is a header with the source of its name beside it, or one of the two
alone. A room is a directory. A header that the build generates counts by its room.
"""

import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path, PurePath

FOLDERS = ("engine", "attach", "copies", "include", "plugins", "sharing", "bench")
BASES = ("", "engine", "include", "engine/tests", "sharing", "sharing/studies/pvcc/native")
"""What names of included files begin at, beside the folder of the file."""
Edges = dict[str, dict[str, str]]
"""From -> to -> a file and what it includes."""


def included(root: Path) -> Iterator[tuple[PurePath, PurePath, str]]:
    """Each file of the repository with one that it includes, and what stands there."""
    paths = (path for folder in FOLDERS for path in (root / folder).rglob("*.*"))
    files = {path.relative_to(root) for path in paths if path.suffix in (".c", ".cc", ".h")}
    folders = {path.parent for path in files}
    for file in sorted(files):
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', (root / file).read_text(), re.MULTILINE):
            target = next((path for base in (file.parent, *BASES) if (path := PurePath(base, name)) in files), None)
            if target is None and "/" in name and PurePath("engine", name).parent in folders:
                target = PurePath("engine", name)  # generated
            if target:
                yield file, target, name


def circle_in(edges: Edges) -> list[str]:
    """The names of a circle, the first one at the end again; empty if there is none."""
    try:
        TopologicalSorter({start: list(ends) for start, ends in edges.items()}).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def main(root: Path) -> int:
    modules: Edges = {}
    rooms: Edges = {}
    for file, target, name in included(root):
        for edges, start, end in (
            (modules, file.with_suffix(""), target.with_suffix("")),
            (rooms, file.parent, target.parent),
        ):
            if start != end:
                edges.setdefault(str(start), {}).setdefault(str(end), f"{file} includes {name}")
    failed = 0
    for kind, edges in (("modules", modules), ("rooms", rooms)):
        if circle := circle_in(edges):
            failed = 1
            print(f"circle of {kind}: {' -> '.join(circle)}")
            for start, end in pairwise(circle):
                print(f"    {edges[start][end]}")
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
