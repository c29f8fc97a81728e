"""What windows have of copiers, and of the threads of software copiers."""

from typing import Annotated, Any, cast

from pydantic import Field

from windtunnel.engine.counted import Counted
from windtunnel.engine.histogram import Histogram
from windtunnel.engine.line_model import Line
from windtunnel.engine.plan_values import Side


class CopierThread(Line):
    """The thread of a software copier in a window."""

    cpu: int
    preempted_ns: Annotated[int, Counted("ns")] = Field(
        description="time in which it was runnable and not running (schedstat)"
    )
    on_cpu_ns: Annotated[int, Counted("ns")] = Field(description="time on the CPU (schedstat)")
    steal_ns: Annotated[int, Counted("ns")] = Field(description="steal time of the CPU")


class CopyWindow(Line):
    """What one application copied: requests in app_tx of a client, responses in app_rx of a server."""

    workload: int
    endpoint: Side = "client"
    application: int
    worker: int = Field(description="position in the plan's workers")
    copies: Annotated[int, Counted("copies", openmetrics="made")] = Field(description="copies that the copier made")
    by_cpu: dict[str, int] = Field(
        description="reason -> copies that the CPU made in its place: small, no_room, failed, gave_up"
    )
    uncopied: Annotated[int, Counted("bodies", openmetrics="not_made")] = Field(
        description="bodies that left as a part of the source"
    )
    bytes: Annotated[int, Counted("bytes")] = Field(description="bytes of all these")
    thread: CopierThread | None = Field(None, description="null: the copier has none")
    completion: Histogram | None = Field(
        description="ticks from the submit of a copy to the poll that found its end; null: copies end with their submit"
    )
    sizes: Histogram | None = Field(
        None, description="bytes of the copies that the copier made; null: copies end with their submit"
    )


class ProbeCopier(Line):
    """A worker, and the thread that makes its copies."""

    worker: int = Field(description="position in the plan's workers")
    cpu: int = Field(description="of the thread")
    trip_ns: float = Field(
        description="from the submit of a copy of 64 bytes to the poll that found its end: the median of 20"
    )


STAGEWINDOW: dict[str, Any] = {
    "stalled_for_copies": (
        Annotated[int | None, Counted("calls")],
        Field(None, description="stalled calls of app_tx or app_rx that found only packets whose copies run"),
    ),
}
WINDOW: dict[str, Any] = {
    "copies": (list[CopyWindow], Field([], description="one an application with a copier")),
}
PROBE: dict[str, Any] = {
    "copiers": (list[ProbeCopier], Field([], description="software copiers with a thread of their own")),
}


def copies_in(window: Line) -> list[CopyWindow]:
    """What copiers did in a window."""
    return cast(list[CopyWindow], cast(Any, window).copies)


def copiers_in(probe: Line) -> list[ProbeCopier]:
    """The threads of software copiers that a probe has read."""
    return cast(list[ProbeCopier], cast(Any, probe).copiers)
