"""What Axio's formats have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = ("docs/how-to/axio.md", "src/windtunnel/parts/reproduce/claims/000-diagnosis.toml")
