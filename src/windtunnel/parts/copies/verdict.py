"""What is wrong with a run that copied payload."""

from collections.abc import Iterator

from windtunnel.engine.history import History
from windtunnel.engine.lines import Result
from windtunnel.engine.plan import Plan
from windtunnel.engine.reasons import reason
from windtunnel.parts.copies.ledger import copies_of, verified_of
from windtunnel.parts.copies.plan import copies_of as copies_planned


def plugins(plan: Plan) -> list[str]:
    """Copiers that are files of the user's, by path."""
    engines = [copies.engine for workload in plan.workloads if (copies := copies_planned(workload))]
    return [engine for engine in engines if "/" in engine]


def unsound(history: History, result: Result) -> Iterator[str]:
    """Copies that never ended, ledgers that do not close, and bytes that arrived wrong."""
    names = [workload.name for workload in history.plan.workloads]
    for copies in copies_of(result):
        who = (
            f"{copies.engine} ({copies.device}) of application {copies.application}, workload {names[copies.workload]}"
        )
        if copies.breach:
            yield reason("copier wrong", f"{who}: {copies.breach}")
        if copies.never_ended:
            yield reason(
                "copies never ended",
                f"{copies.never_ended} of {copies.submitted} that {who} took; their mbufs were not used again",
            )
        if copies.missing:
            yield reason("ledger open", f"{copies.missing} copies missing of {copies.submitted} that {who} took")
        driver = copies.driver
        if (
            driver
            and not copies.never_ended
            and (driver.submitted, driver.completed) != (copies.submitted, copies.ended)
        ):
            yield reason(
                "ledger open",
                f"the driver of {who} counted {driver.submitted} submitted and {driver.completed} completed copies, "
                f"the application {copies.submitted} and {copies.ended}",
            )
    for verified in verified_of(result):
        if verified.wrong_packets and verified.first:
            first = verified.first
            what = "message" if verified.endpoint == "server" else "the response to message"
            yield reason(
                "copies wrong",
                f"{verified.wrong_packets} of {verified.packets} packets of workload {names[verified.workload]} arrived with "
                f"{verified.wrong_bytes} wrong bytes, the first at byte {first.offset} of {what} {first.slot}/{first.generation} "
                f"of application {first.application}",
            )
