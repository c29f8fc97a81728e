"""The page of drops and verdicts, docs/reference/drops-and-verdicts.md, as Markdown."""

from collections.abc import Iterable, Iterator

from windtunnel.engine.drops import DROPS, Drop
from windtunnel.engine.reason import Reason
from windtunnel.engine.reasons import FAULTS, REASONS
from windtunnel.runs.record import DID_NOT_FINISH, NO_END
from windtunnel.runs.validity import BAD_CHECKS

HEAD = """\
# Drops and verdicts

<!-- Generated from src/windtunnel/engine/drops.py, src/windtunnel/engine/reasons.py and src/windtunnel/runs/validity.py by `python -m windtunnel.schemas`. -->

Every name under which a packet may be dropped, and every reason for which a run may be invalid, each with its cause and with what to do.

## Drops

A stage that drops a packet counts it under one of these names. They are in the table *Drops* of a report, in the terminal after the stages, and in `drops` of
`windows.jsonl`. Keys such as `vlan` and `mtu` are those of the endpoint that dropped the packet, in `[client]` or `[server]` of the scenario.

"""
VERDICTS = """
## Verdicts

An invalid run has one reason or several. Each begins with one of these codes and a colon; what follows says what was seen.

### How the run ended, and its ledgers

"""
FAULTY = """\
[`compare --fail-if`](../how-to/compare.md#use-it-in-ci) takes B for broken if most of its runs, and at least three, end by one of these, and none of A's does: {}.

"""
CHECKS = """
### What the run measured

The [validity checks](metrics.md#validity-checks) that can make a run invalid. Why they exist: [How a run judges itself](../explanation/validity.md).

"""


def page() -> str:
    return (
        HEAD
        + "".join(_rows("drop", DROPS.items()))
        + VERDICTS
        + FAULTY.format(", ".join(f"`{code}`" for code in REASONS if code in FAULTS))
        + "".join(_rows("reason", [(DID_NOT_FINISH, NO_END), *REASONS.items()]))
        + CHECKS
        + "".join(_rows("reason", BAD_CHECKS.items()))
    )


def _rows(kind: str, explained: Iterable[tuple[str, Drop | Reason]]) -> Iterator[str]:
    yield f"| {kind} | cause | what to do |\n|---|---|---|\n"
    for name, explanation in explained:
        yield f"| `{name}` | {_cell(explanation.cause)} | {_cell(explanation.remedy)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
