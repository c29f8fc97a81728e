"""What the tuner has outside of its folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = (
    "bench/spoilt.py",
    "bench/surfaces/echo-bursts.jsonl",
    "bench/surfaces/echo-bursts.toml",
    "bench/surfaces/filter-tables.jsonl",
    "bench/surfaces/filter-tables.toml",
    "bench/surfaces/memory-split.jsonl",
    "bench/surfaces/memory-split.toml",
    "bench/tuner.py",
    "docs/explanation/tune.md",
    "docs/how-to/tune.md",
    "docs/measurements/tuner.md",
    "schemas/tuning-final.json",
    "schemas/tuning-trial.json",
    "schemas/tuning.json",
)
