"""Whether a resumed study is unchanged; if not, the changes as a unified diff."""

import json
from difflib import unified_diff
from typing import Any

from windtunnel.measure.study.record import StudyRecord

HOST = ("hostname", "system", "kernel", "architecture")
CPUS = ("model", "online", "allowed", "isolated", "nohz_full", "quota", "governors", "turbo")
"""Facts about a host that stay while it does; free memory and steal do not."""


def differences(then: StudyRecord, now: StudyRecord) -> str:
    """What has changed of all that a number depends on; empty if nothing has."""
    return changes(
        (then.study.file, then.study.text, now.study.text),
        (then.scenario.file, then.scenario.text, now.scenario.text),
        ("size", _size(then), _size(now)),
        ("--set", "\n".join(then.sets), "\n".join(now.sets)),
        ("versions", lines(then.versions), lines(now.versions)),
        *_hosts(then, now),
        ("points", lines(_points(then)), lines(_points(now))),
    )


def changed_texts(then: StudyRecord, study: str, scenario: str) -> str:
    """What has changed of the files that the study was made from; empty if nothing has."""
    return changes((then.study.file, then.study.text, study), (then.scenario.file, then.scenario.text, scenario))


def _hosts(then: StudyRecord, now: StudyRecord) -> list[tuple[str, str, str]]:
    """Testbeds may join and leave: they are alike, or they are blocks of the study."""
    if not then.testbeds and not now.testbeds:
        return [("host", lines(host_facts(then.host)), lines(host_facts(now.host)))]
    both = sorted(then.testbeds.keys() & now.testbeds.keys())
    return [
        ("runs on", _runs_on(then), _runs_on(now)),
        *((f"testbed {name}", _testbed(then, name), _testbed(now, name)) for name in both),
    ]


def _testbed(record: StudyRecord, name: str) -> str:
    return lines(host_facts(record.testbeds[name]))


def _runs_on(record: StudyRecord) -> str:
    return f"testbeds, spread: {json.dumps(record.spread)}" if record.testbeds else "one host, without testbeds"


def changes(*parts: tuple[str, str, str]) -> str:
    """Parts of a record, each with its name, as it was and as it is now: a unified diff of those that differ."""
    differing = []
    for name, before, after in parts:
        if before != after:
            diff = unified_diff(
                before.splitlines(), after.splitlines(), f"{name} (then)", f"{name} (now)", "", "", 1, ""
            )
            differing += [*diff] or [f"{name}: line ends have changed"]
    return "\n".join(differing)


def _size(record: StudyRecord) -> str:
    return "full" if record.full else "quick"


def lines(facts: dict[str, Any]) -> str:
    """One fact a line."""
    return "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items())


def host_facts(host: dict[str, Any]) -> dict[str, Any]:
    """What must stay of a host."""
    cpus = host.get("cpus") or {}
    return {name: host.get(name) for name in HOST} | {f"cpus.{name}": cpus.get(name) for name in CPUS}


def _points(record: StudyRecord) -> dict[str, Any]:
    """How each point runs: with which memory, on which CPUs, or not at all. Each testbed has CPUs of its own."""
    return {
        p.name: {"memory": p.memory, "cannot run": p.cannot_run is not None}
        | ({} if record.testbeds else {"cpus": p.cpus})
        for p in record.points
    }
