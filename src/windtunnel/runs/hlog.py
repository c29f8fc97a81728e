"""latency.hlog: an HdrHistogram log (format 1.3: V2 histograms, tagged) that grows window by window.

The lines are written here and not by `hdrh.log.HistogramLogWriter`, which knows no tags and fails on its start time; the
histograms themselves are encoded by the package.
"""

import re
import time
from datetime import UTC, datetime
from pathlib import Path

from windtunnel.engine.lines import Window
from windtunnel.runs.files import LineFile
from windtunnel.runs.histogram import to_hdr

_NS = 1e9
_MAX_VALUE_UNIT_NS = 1e6


class LatencyLog:
    """One interval histogram for each measured window and workload, tagged with the workload's name.

    Latencies are nanoseconds from the intended send time; the column of maxima is in milliseconds, as the format has it.
    The file appears with the first measured window that carries a workload.
    """

    def __init__(self, path: Path, workloads: list[str]):
        self._path = path
        self._tags = [re.sub(r"[,\s]", "_", name) for name in workloads]
        self._file: LineFile | None = None

    def window(self, window: Window) -> None:
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

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _header(epoch_s: float) -> str:
    start = datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds")
    return (
        "#[Latency of messages that got a response, in nanoseconds, from the intended send time; measured windows only]\n"
        "#[Histogram log format version 1.3]\n"
        f"#[StartTime: {epoch_s:.3f} (seconds since epoch), {start}]\n"
        f"#[BaseTime: {epoch_s:.3f} (seconds since epoch)]\n"
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
    )
