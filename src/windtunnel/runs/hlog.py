"""latency.hlog: an HdrHistogram log (format 1.3: V2 histograms, tagged) that grows window by window.

The lines are written here and not by `hdrh.log.HistogramLogWriter`, which knows no tags and fails on its start time; the
histograms themselves are encoded by the package.
"""

import re
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from windtunnel.engine.windows import Window
from windtunnel.runs.files import LineFile, replace
from windtunnel.runs.histogram import to_hdr

_NS = 1e9
_MAX_VALUE_UNIT_NS = 1e6
EXCLUDED = "-excluded"
"""Ends the tag of an interval that no metric uses."""

_COLUMNS = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'


class LatencyLog:
    """One interval histogram for each measured window and workload, tagged with the workload's name.

    Latencies are nanoseconds from the intended send time; the column of maxima is in milliseconds, as the format has it.
    The file appears with the first measured window that carries a workload. Which windows are excluded is known at the end of the run.
    """

    def __init__(self, path: Path, workloads: list[str]):
        self._path = path
        self._tags = [re.sub(r"[,\s]", "_", name) for name in workloads]
        self._file: LineFile | None = None
        self._windows: list[tuple[str, int]] = []
        """Engine and window of each line behind the head."""

    def window(self, engine: str, window: Window) -> None:
        """Append the histograms of a window, if it is a measured one."""
        if window.phase != "measure" or not window.workloads:
            return
        if self._file is None:
            self._file = LineFile(self._path)
            self._file.append(_header(time.time() - window.end_ns / _NS))
        start, length = window.start_ns / _NS, (window.end_ns - window.start_ns) / _NS
        for workload in window.workloads:
            largest = (workload.latency.max or 0) / _MAX_VALUE_UNIT_NS
            payload = to_hdr(workload.latency).encode().decode()
            self._file.append(f"Tag={self._tags[workload.workload]},{start:.6f},{length:.6f},{largest:.6f},{payload}\n")
            self._windows.append((engine, window.index))

    def close(self, excluded: Collection[tuple[str, int]] = ()) -> None:
        """`excluded`: engine and window of those whose intervals get a tag of their own."""
        if self._file is None:
            return
        self._file.close()
        self._file = None
        if not {*excluded}.isdisjoint(self._windows):
            *head, text = self._path.read_text().rsplit(_COLUMNS, 1)
            marked = [
                line.replace(",", f"{EXCLUDED},", 1) if window in excluded else line
                for line, window in zip(text.splitlines(keepends=True), self._windows, strict=True)
            ]
            replace(self._path, "".join([*head, _COLUMNS, *marked]))


def _header(epoch_s: float) -> str:
    start = datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds")
    return (
        "#[Latency of messages that got a response, in nanoseconds, from the intended send time; measured windows only. "
        f"Intervals that no metric of the run uses have tags that end in {EXCLUDED} once the run has ended]\n"
        "#[Histogram log format version 1.3]\n"
        f"#[StartTime: {epoch_s:.3f} (seconds since epoch), {start}]\n"
        f"#[BaseTime: {epoch_s:.3f} (seconds since epoch)]\n" + _COLUMNS
    )
