"""How long `windtunnel ui` takes to list 10,000 runs, and what memory its index takes.

.venv/bin/python bench/ui.py
"""

import json
import resource
import statistics
import tempfile
import time
from pathlib import Path

from windtunnel.index.index import Index

RUNS, TRIALS = 10_000, 15
SEARCHES = ("", "echo", "p99 < 50us", "server.batch.app_rx = 64 verdict = valid")
FACTS = 186
"""Keys and metrics of a run of scenarios/echo.toml."""


def filled(directory: Path) -> Index:
    """An index with made-up runs: what takes time is how many there are, and how much each has."""
    index = Index(directory, directory)
    more = {f"metric_{number}": number * 1.5 for number in range(FACTS)}
    with index._lock:
        index._base.execute("BEGIN")
        for number in range(RUNS):
            facts = more | {
                "p99": 10_000 + number * 10,
                "p50": 900,
                "responses_per_s": 2e6,
                "server.batch.app_rx": number % 128,
            }
            row = [
                f"{number}/run.json",
                "0 0",
                "run",
                f"echo {number}",
                "how fast?",
                "here",
                "valid",
                "2026-11-25 10:00:00",
            ]
            values = [*row, json.dumps(facts), None, facts["responses_per_s"], facts["p50"], facts["p99"]]
            index._base.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(values))})", values)
    index._base.execute("COMMIT")
    index._base.execute("CHECKPOINT")  # as after a refresh
    return index


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = filled(Path(directory))
        for search in SEARCHES:
            times = []
            for _ in range(TRIALS):
                began = time.perf_counter()
                count, _rows = index.find(search, "p99")
                times.append(time.perf_counter() - began)
            print(
                f"{search!r}: {count} runs, median {statistics.median(times) * 1e3:.0f} ms, most {max(times) * 1e3:.0f} ms",
                flush=True,
            )
        print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
        index.close()


if __name__ == "__main__":
    main()
