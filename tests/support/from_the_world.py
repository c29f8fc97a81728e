"""Small files as other tools write them, or as their users' reports have them: tests/support/data/from_the_world."""

from pathlib import Path

FILES = Path(__file__).parent / "data" / "from_the_world"
EACH = tuple(sorted(file.name for file in FILES.iterdir()))
