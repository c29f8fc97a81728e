"""The percentiles of a latency: each once, as a field of it, with where it is shown."""

from dataclasses import dataclass, replace
from typing import Annotated, get_type_hints


@dataclass(frozen=True, kw_only=True)
class Percentile:
    """One that a run has. `--json` and studies have all of them."""

    field: str = ""
    """In `Latency` and in columns: the name of the field that it annotates."""
    name: str
    """For people, and in options."""
    percent: float
    in_tables: bool = False
    """Terminal, runs side by side, and report."""
    spare: int = 0
    """As of a column: the one with the highest value is dropped first; 0 stays."""
    decides: bool = False
    """Compared, followed in a history, a goal of searches and tunings; with an interval over the windows of a run."""
    in_headline: bool = False
    """At the head of a report, and on the page Now."""
    exported: bool = False
    """A quantile of OpenMetrics."""

    @property
    def share(self) -> float:
        """Of the messages: 0.99 for p99."""
        return round(self.percent / 100, 9)


@dataclass(frozen=True)
class Latency:
    """Percentiles in ns of messages, the lost ones being later than any response; None if there were too few messages, or it is a lost one's."""

    p50: Annotated[
        int | None,
        Percentile(name="p50", percent=50.0, in_tables=True, decides=True, in_headline=True, exported=True),
    ]
    p90: Annotated[
        int | None, Percentile(name="p90", percent=90.0, in_tables=True, spare=6, decides=True, exported=True)
    ]
    p99: Annotated[
        int | None,
        Percentile(name="p99", percent=99.0, in_tables=True, decides=True, in_headline=True, exported=True),
    ]
    p999: Annotated[
        int | None,
        Percentile(name="p99.9", percent=99.9, in_tables=True, spare=5, decides=True, in_headline=True, exported=True),
    ]
    p9999: Annotated[int | None, Percentile(name="p99.99", percent=99.99)]
    p99999: Annotated[int | None, Percentile(name="p99.999", percent=99.999)]
    p999999: Annotated[int | None, Percentile(name="p99.9999", percent=99.9999)]
    maximum: int | None
    samples: int


PERCENTILES = tuple(
    replace(note, field=name)
    for name, hint in get_type_hints(Latency, include_extras=True).items()
    for note in getattr(hint, "__metadata__", ())
)
DECIDING = tuple(each for each in PERCENTILES if each.decides)
