"""Makes a small record of a run directory, to be kept as a sample: python keep_record.py RUN DIR.

What a reader reads stays as it was written, number by number. Histograms are thinned (neighbouring buckets are added up into the
greater one), what tells of the host is replaced, and logs and reports are left out.
"""

import json
import sys
from pathlib import Path

BUCKETS = 12
HOST = {"hostname": "sample", "system": "Linux", "kernel": "6.1.0", "cpus": {"model": "sample CPU", "allowed": [0, 1]}}


def thinned(of):
    """The same with few buckets in every histogram."""
    if isinstance(of, list):
        return [thinned(each) for each in of]
    if not isinstance(of, dict):
        return of
    if "counts" in of and "bits" in of and len(of["counts"]) > BUCKETS:
        size = -(-len(of["counts"]) // BUCKETS)
        parts = [of["counts"][at : at + size] for at in range(0, len(of["counts"]), size)]
        return of | {"counts": [[max(lowest for lowest, _ in part), sum(n for _, n in part)] for part in parts]}
    return {key: thinned(value) for key, value in of.items()}


def kept(run: Path, directory: Path, scrub: dict[str, str]) -> None:
    def clean(document) -> str:
        text = json.dumps(thinned(document), separators=(",", ":"), ensure_ascii=False)
        for found, instead in scrub.items():
            text = text.replace(found, instead)
        return text + "\n"

    directory.mkdir(parents=True)
    record = json.loads((run / "run.json").read_text())
    if record["host"]:
        record["host"] = HOST
    (directory / "run.json").write_text(clean(record))
    if (run / "windows.jsonl").exists():
        lines = (run / "windows.jsonl").read_text().splitlines()
        (directory / "windows.jsonl").write_text("".join(clean(json.loads(line)) for line in lines))


if __name__ == "__main__":
    pairs = dict(pair.split("=", 1) for pair in sys.argv[3:])
    kept(Path(sys.argv[1]), Path(sys.argv[2]), pairs)
