"""The percentiles of a latency: each once, with where it is shown."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Percentile:
    """One that a run has. `--json` and studies have all of them."""

    field: str
    """In rows (`windtunnel.runs.rows.Latency`) and columns."""
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


PERCENTILES = (
    Percentile("p50", "p50", 50.0, in_tables=True, decides=True, in_headline=True, exported=True),
    Percentile("p90", "p90", 90.0, in_tables=True, spare=6, decides=True, exported=True),
    Percentile("p99", "p99", 99.0, in_tables=True, decides=True, in_headline=True, exported=True),
    Percentile("p999", "p99.9", 99.9, in_tables=True, spare=5, decides=True, in_headline=True, exported=True),
    Percentile("p9999", "p99.99", 99.99),
    Percentile("p99999", "p99.999", 99.999),
    Percentile("p999999", "p99.9999", 99.9999),
)
DECIDING = tuple(each for each in PERCENTILES if each.decides)
