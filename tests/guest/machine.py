"""A guest as QEMU starts it: the base image, a job in an archive of its own, and its console in a file."""

import gzip
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

JOBS = Path(__file__).with_name("jobs")
BUILT = Path(__file__).parents[2] / "build-guest"
FIRST_SLOT = 2
# no_timer_check: on a busy host the emulated timer is late, and the kernel would take it for broken.
KERNEL_WORDS = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check"
MEMORY_MIB = 1024
MACHINE = ("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", f"{MEMORY_MIB}")
INSTALLED = "qemu-system-x86_64"
DATA = (Path("usr/share/qemu"), Path("/usr/share/seabios"))
"""Of a QEMU that was fetched: its files, and the firmware that the installed one has, too."""
BARE = ("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot")


def command(
    work: Path, job: Mapping[str, str], kernel_words: str = "", qemu: Sequence[str | Path] = (INSTALLED,)
) -> list[str | Path]:
    """QEMU's command line of a guest that runs the job's file `run`; what it prints is in `work`/console."""
    (work / "initrd").write_bytes((built() / "base.cpio.gz").read_bytes() + archive(work, job))
    [kernel] = (built() / "kernel/boot").glob("vmlinuz-*")
    started = [*qemu, *BARE, *MACHINE, "-kernel", kernel, "-initrd", work / "initrd"]
    started += ["-append", f"{KERNEL_WORDS} {kernel_words}"]
    return [*started, "-chardev", f"file,id=console,path={work / 'console'}", "-serial", "chardev:console"]


def built() -> Path:
    """Directory of kernel and base.cpio.gz: WT_GUEST, if it is not where `make -C tests/guest image` makes them."""
    return Path(os.environ.get("WT_GUEST", BUILT))


def qemu_with(model: str) -> list[str | Path] | None:
    """The start of a command line of a QEMU that emulates a device: the installed one, else the one that `make -C tests/guest qemu` has
    fetched. None: neither does."""
    fetched = built() / "qemu"
    ours = [fetched / "usr/bin/qemu-system-x86_64", *(word for data in DATA for word in ("-L", fetched / data))]
    for started in ([INSTALLED], ours) if fetched.exists() else ([INSTALLED],):
        # its exit code is 0 without the device, too
        if subprocess.run([*started, "-device", f"{model},help"], check=False, capture_output=True).stdout:
            return started
    return None


def archive(work: Path, job: Mapping[str, str]) -> bytes:
    """The job's files, by their names, below /job."""
    (work / "files/job").mkdir(parents=True)
    for name, text in job.items():
        (work / "files/job" / name).write_text(text)
        (work / "files/job" / name).chmod(0o755)
    packed = subprocess.run(
        ["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0", "-D", work / "files"],
        input="\n".join(["job", *(f"job/{name}" for name in job)]).encode(),
        capture_output=True,
        check=True,
    )
    return gzip.compress(packed.stdout)


def shipped(name: str) -> str:
    return (JOBS / name).read_text()
