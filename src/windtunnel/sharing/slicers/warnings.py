"""What keeps a slicer from doing what it should, in words."""

from pathlib import Path

from windtunnel.sharing import sched, threads
from windtunnel.sharing.slicers.readings import SliceReading

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
OFF_POINTS = 0.03


def about(figures: SliceReading, why_no_switches: str | None, apart: bool) -> list[str]:
    said = []
    if why_no_switches is not None:
        said.append(f"slices are means of schedstat: {why_no_switches} (CAP_PERFMON, or kernel.perf_event_paranoid 0)")
    if not apart:
        said.append("there is no other CPU: what watches this one takes its time from it")
    if not sched.default_slice_ns():
        said.append("this kernel has no slices of a thread's own (Linux 6.12): the default one holds")
    groups = autogroups([member.tid for member in figures.members])
    if len(groups) > 1:
        said.append(
            f"the members are in {len(groups)} autogroups, which share the core evenly whatever the weights: "
            "give them a cpu cgroup of their own, or kernel.sched_autogroup_enabled=0"
        )
    for member in figures.members:
        if member.share is not None and abs(member.share - member.entitled) > OFF_POINTS:
            said.append(
                f"thread {member.tid} has {member.share:.1%} of what the members ran, and {member.entitled:.1%} by its weight"
            )
    return said


def autogroups(tids: list[int]) -> set[str]:
    """The groups in which these threads compete: a cpu cgroup, else an autogroup, else the root; none where autogroups are off.

    A thread that is not in the root cgroup of the cpu controller has no autogroup (kernel/sched/autogroup.c), nor has one of a
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
