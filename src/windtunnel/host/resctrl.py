"""Counts of resctrl (resctrl(7) of Linux: Intel RDT, AMD QoS) for a thread: its share of the last-level cache, and its memory traffic."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from windtunnel.host.perf_events import Refused

ROOT = Path("/sys/fs/resctrl")
NOT_MOUNTED = "resctrl is not mounted: `mount -t resctrl resctrl /sys/fs/resctrl` does so, on a processor that has it; a virtual machine hardly ever has"


@dataclass(frozen=True)
class Monitored:
    file: str
    """Its name in the directory of each L3 in mon_data."""
    level: bool
    """Whether it is a gauge, not a counter."""


EVENTS = {
    "llc-occupancy": Monitored("llc_occupancy", level=True),
    "mbm-total": Monitored("mbm_total_bytes", level=False),
    "mbm-local": Monitored("mbm_local_bytes", level=False),
}
"""Events by name; each counts bytes, summed over the L3s of the host."""


class Group:
    """A monitoring group of one thread. `close` removes it; the kernel then moves the thread back to its former group."""

    def __init__(self, thread: int, root: Path = ROOT) -> None:
        """Makes the group. Raises Refused."""
        if not (root / "mon_groups").is_dir():
            raise Refused(NOT_MOUNTED)
        self._path = root / "mon_groups" / f"windtunnel-{thread}"
        try:
            self._path.mkdir()
        except OSError as error:
            raise Refused(_reason_text(error)) from error
        try:
            (self._path / "tasks").write_text(str(thread))
        except OSError as error:
            self.close()
            raise Refused(_reason_text(error)) from error

    def read(self, event: str) -> int:
        """The event's bytes. Raises Refused if an L3 has no value."""
        files = sorted((self._path / "mon_data").glob(f"mon_L3_*/{EVENTS[event].file}"))
        if not files:
            raise Refused("this processor does not count it")
        try:
            texts = [file.read_text().strip() for file in files]
        except OSError as error:
            raise Refused(f"it cannot be read: {error}") from error
        if wrong := [text for text in texts if not text.isdigit()]:
            raise Refused(f'the kernel says "{wrong[0][:40]}" for it')
        return sum(map(int, texts))

    def close(self) -> None:
        os.rmdir(self._path)  # resctrl lets rmdir remove a group although files are in it


def _reason_text(error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC:
            return "no monitoring id is free: other groups of resctrl have them all"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "not permitted: root may make groups of resctrl"
    return error.strerror or str(error)
