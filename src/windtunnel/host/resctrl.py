"""What resctrl (resctrl(7) of Linux: Intel RDT, AMD QoS) counts for a thread: its share of the last-level cache, and its memory traffic."""

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
    """In mon_data, of each L3."""
    level: bool
    """A state, not a count."""


EVENTS = {
    "llc-occupancy": Monitored("llc_occupancy", level=True),
    "mbm-total": Monitored("mbm_total_bytes", level=False),
    "mbm-local": Monitored("mbm_local_bytes", level=False),
}
"""All of them bytes, summed over the L3s of the host."""


class Group:
    """A monitoring group of one thread. `close` removes it; the kernel then gives the thread back to the group that it came from."""

    def __init__(self, thread: int, root: Path = ROOT) -> None:
        """Raises Refused."""
        if not (root / "mon_groups").is_dir():
            raise Refused(NOT_MOUNTED)
        self._path = root / "mon_groups" / f"windtunnel-{thread}"
        try:
            self._path.mkdir()
        except OSError as error:
            raise Refused(_words(error)) from error
        try:
            (self._path / "tasks").write_text(str(thread))
        except OSError as error:
            self.close()
            raise Refused(_words(error)) from error

    def read(self, event: str) -> int:
        """Bytes. Raises Refused where an L3 does not say."""
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
        os.rmdir(self._path)  # of a directory of resctrl, with all that the kernel shows in it


def _words(error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC:
            return "no monitoring id is free: other groups of resctrl have them all"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "not permitted: root may make groups of resctrl"
    return error.strerror or str(error)
