"""Conditions that keep a slicer from working as intended."""

from pathlib import Path

from windtunnel_sharing import sched, threads
from windtunnel_sharing.slicers.readings import SliceReading

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
OFF_POINTS = 0.03


def about(reading: SliceReading, why_no_switches: str | None, apart: bool) -> list[str]:
    said = []
    if why_no_switches is not None:
        said.append(f"slices are means of schedstat: {why_no_switches} (CAP_PERFMON, or kernel.perf_event_paranoid 0)")
    if not apart:
        said.append("there is no other CPU: the slicer's measurement uses time of this one")
    if not sched.default_slice_ns():
        said.append("this kernel has no custom slices (they need Linux 6.12): the default slice applies")
    groups = autogroups([member.tid for member in reading.members])
    if len(groups) > 1:
        said.append(
            f"the members are in {len(groups)} autogroups, which share the core evenly and ignore weights: "
            "give them a cpu cgroup of their own, or kernel.sched_autogroup_enabled=0"
        )
    for member in reading.members:
        if member.share is None or member.entitled is None:
            continue
        if abs(member.share - member.entitled) > OFF_POINTS:
            said.append(
                f"thread {member.tid} had {member.share:.1%} of the members' CPU time; its weight entitles it to {member.entitled:.1%}"
            )
    return said


def autogroups(tids: list[int]) -> set[str]:
    """The groups of these threads: a cpu cgroup, else an autogroup, else the root; none where autogroups are off.

    A thread outside the root cgroup of the cpu controller has no autogroup (kernel/sched/autogroup.c). Neither has a thread of a
    session that is older than autogroups: its file is empty.
    """
    if not AUTOGROUP.exists() or AUTOGROUP.read_text().strip() != "1":
        return set()
    found = set()
    for tid in tids:
        try:
            cgroups = threads.cgroups_of(tid)
            text = (threads.PROC / str(tid) / "autogroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        mine = next((path for names, path in cgroups.items() if "cpu" in names.split(",")), cgroups.get("", "/"))
        found.add(f"cgroup {mine}" if mine != "/" else text.partition(" ")[0] or "root")
    return found
