"""What tables have outside of their folders."""

SCENARIOS = {
    "Match-action tables": (
        "tables-exact",
        "tables-lpm",
        "tables-ternary",
        "tables-three",
        "tables-router",
        "tables-latency",
    ),
}
STUDIES = {
    "Match-action tables": (
        "tables-exact",
        "tables-ternary",
        "tables-lpm",
        "tables-shared",
        "tables-segments",
        "tables-latency",
        "tables-percentiles",
    ),
}
FILES = (
    "bench/lookups.py",
    "bench/scenarios/filter.toml",
    "bench/surfaces/filter-tables.jsonl",
    "bench/surfaces/filter-tables.toml",
    "bench/table_lookups.c",
    "docs/reference/tables.md",
)
