"""What diagnoses have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES: dict[str, tuple[str, ...]] = {}
FILES = (
    "bench/diagnosis.py",
    "bench/ground_truth.py",
    "bench/harness/faults.py",
    "bench/harness/other_rules.py",
    "docs/explanation/diagnose.md",
    "docs/how-to/diagnose.md",
    "docs/how-to/my-application-is-slow.md",
    "docs/measurements/diagnosis.md",
    "schemas/diagnosis.json",
    "src/windtunnel/parts/reproduce/claims/000-diagnosis.toml",
)
