"""run.json says which build of the engine ran: the linker's id, as the executable holds it."""

import json
import struct
from pathlib import Path

from real_runs import execute, scenario

from windtunnel.engine.find import find_engine
from windtunnel.engine.query import version

NOTE = struct.pack("=III", 4, 20, 3) + b"GNU\0"
"""Head of the note: 4 bytes of name, 20 of a SHA-1, NT_GNU_BUILD_ID."""


def built(executable: Path) -> str:
    """The id that the file holds, found without the engine's help."""
    data = executable.read_bytes()
    at = data.index(NOTE) + len(NOTE)
    return data[at : at + 20].hex()


def test_run_json_holds_the_build_of_the_engine(tmp_path):
    path = execute(tmp_path, scenario()).run.path
    engines = json.loads((path / "run.json").read_text())["engines"]
    assert [engine["hello"]["build"] for engine in engines] == [built(find_engine())]


def test_the_version_shows_the_first_digits_of_the_build():
    engine = find_engine()
    assert version(engine).endswith(f", build {built(engine)[:12]}")
