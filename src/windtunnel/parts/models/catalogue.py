"""What models have outside of their folders."""

SCENARIOS: dict[str, tuple[str, ...]] = {}
STUDIES = {
    "Input for models": (
        "model-exact",
        "model-exact-single",
        "model-lpm",
        "model-acl",
        "model-linear",
        "model-tss",
        "model-pipeline",
        "model-load",
        "model-load-one",
    ),
}
FILES = (
    "bench/capacity.py",
    "bench/model_coverage.py",
    "bench/models.py",
    "docs/explanation/models.md",
    "docs/how-to/model.md",
    "docs/measurements/models.md",
    "schemas/model.json",
    "src/windtunnel/parts/reproduce/claims/001-exact-model.toml",
)
