"""The copiers that tests of real runs try, from the only list of them."""

import re
from pathlib import Path

LIST = Path(__file__).parents[3] / "engine/parts/copies/copiers/meson.build"
ALL = re.findall(r"^  '(\w+)',$", LIST.read_text(), re.MULTILINE)
MOVING = [name for name in ALL if name not in ("model", "planted")]
"""Those that move bytes themselves, in this host's own time: a new copier is one of them."""
