"""What tests of the benches share: the path to their harness."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from harness import results  # noqa: F401
from harness.main import finish  # noqa: F401
from harness.noise import Noise  # noqa: F401
from harness.sample import Sample  # noqa: F401
from harness.session import Rounds, Session, compared  # noqa: F401
from harness.statistics import Spread  # noqa: F401
