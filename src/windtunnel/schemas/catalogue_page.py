"""The catalogues of shipped scenarios and studies, docs/reference/scenarios.md and studies.md, from the first line of each file."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from windtunnel.measure.study import definition
from windtunnel.measure.study.constraints import combinations
from windtunnel.measure.study.definition import Definition
from windtunnel.measure.study.factors import factors
from windtunnel.part_registry import part_modules
from windtunnel.scenario.load import question_of

GENERATED = "<!-- Generated from {} by `python -m windtunnel.schemas`. -->"


def _of_parts(kind: str) -> dict[str, tuple[str, ...]]:
    return {task: names for part in part_modules("catalogue") for task, names in getattr(part, kind).items()}


SCENARIOS = {
    "Start here": ("echo", "split", "open-loop", "two-workloads"),
    "Shape the load": ("phases", "imix", "kv-zipf"),
    **_of_parts("SCENARIOS"),
    "Message handlers": (
        "handler-empty",
        "handler-l_app",
        "handler-t_app",
        "handler-m_app",
        "handler-kv",
        "handler-fs_read",
        "handler-fs_write",
        "handler-decompress",
        "plugin",
    ),
    "Packet handlers": ("packet-empty", "packet-echo", "packet-l2fwd", "packet-drop", "packet-work"),
    "Captures": ("pcap-replay", "pcap-times", "record"),
    "Links and faults": ("link", "lossy"),
    "Other processes, hosts and NICs": (
        "two-processes",
        "two-hosts",
        "nic",
        "kernel-ping",
        "kernel-af_xdp",
        "kernel-tap",
    ),
}
STUDIES = {
    "Load and size": ("inflight", "message-size"),
    "Cores, queues and memory": ("cores", "scaling", "queues", "mempool-cache"),
    **_of_parts("STUDIES"),
    "Batch sizes": ("batch-l_app", "batch-t_app", "batch-m_app"),
}

SCENARIO_HEAD = f"""\
# Shipped scenarios

{GENERATED.format("scenarios/*.toml")}

Each scenario opens with its question. Run one with `./windtunnel run FILE`, or copy it with `./windtunnel init NAME mine.toml`.
"""
STUDY_HEAD = f"""\
# Shipped studies

{GENERATED.format("studies/*.toml")}

Each study opens with its question. `--plan` shows the points, the runs and the time, and runs nothing. Points that your host cannot run are skipped.
"""


def scenarios_page(checkout: Path) -> str:
    return SCENARIO_HEAD + "".join(_scenarios(checkout))


def studies_page(checkout: Path) -> str:
    return STUDY_HEAD + "".join(_studies(checkout))


def _scenarios(checkout: Path) -> Iterator[str]:
    for task, names in SCENARIOS.items():
        yield f"\n## {task}\n\n| scenario | question | wire |\n|---|---|---|\n"
        for name in names:
            text = (checkout / "scenarios" / f"{name}.toml").read_text()
            wire = tomllib.loads(text).get("wire", {}).get("kind", "ring")
            yield f"| `scenarios/{name}.toml` | {question_of(text)} | `{wire}` |\n"


def _studies(checkout: Path) -> Iterator[str]:
    for task, names in STUDIES.items():
        yield f"\n## {task}\n\n| study | question | factors | points x repeats | `--full` |\n|---|---|---|---|---|\n"
        for name in names:
            quick = definition.read(checkout / "studies" / f"{name}.toml")
            full = _size(quick.in_full()) if quick.full else ""
            columns = ", ".join(f"`{factor.column}`" for factor in quick.factor)
            yield f"| `studies/{name}.toml` | {quick.question} | {columns} | {_size(quick)} | {full} |\n"


def _size(study: Definition) -> str:
    return f"{len(combinations(factors(study), study.constraints))} x {study.repeats}"
