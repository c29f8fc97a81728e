"""The copy of the checkout in which mutants are tried: a clone of HEAD with its own build."""

import contextlib
import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from mutant import Mutant


class Scratch:
    """In a directory of its own, so that nothing of the checkout changes, its .git included, whenever this is killed. A directory that
    an earlier call left is brought up to date: the build in it is worth minutes."""

    def __init__(self, checkout: Path, directory: Path) -> None:
        self.origin = checkout
        self.directory = directory
        self.checkout = directory / "checkout"
        self._pristine_build = directory / "pristine-build"
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        if directory.stat().st_uid != os.getuid():
            raise SystemExit(f"{directory} is someone else's: name another one with --scratch")
        self._lock = _locked(directory / "lock")
        if not (self.checkout / ".git").exists():
            _git(directory, "clone", "--quiet", "--shared", "--no-checkout", str(checkout), str(self.checkout))
        self.commit = _git(checkout, "rev-parse", "HEAD")
        _git(self.checkout, "fetch", "--quiet", str(checkout), self.commit)
        _git(self.checkout, "reset", "--quiet", "--hard", self.commit)
        _git(self.checkout, "clean", "--quiet", "-d", "--force")
        for made in (
            ".dpdk",
            ".venv",
        ):  # the environment for ./windtunnel; the sources are those of the copy, by PYTHONPATH
            if (checkout / made).exists() and not (self.checkout / made).is_symlink():
                (self.checkout / made).symlink_to(checkout / made)

    def close(self) -> None:
        self._lock.close()

    @property
    def engine(self) -> Path:
        return self.checkout / "build" / "engine" / "windtunnel-engine"

    def build(self) -> None:
        """Everything, as ./test does. What a killed run left of a mutant is built anew."""
        if self._pristine_build.exists():
            self.restore_build()
        set_up = f'root={self.checkout}; source "$root/setup/lib.sh"; build_engine all'
        subprocess.run(["bash", "-euc", set_up], check=True, cwd=self.checkout)
        _copy_changed(self.checkout / "build", self._pristine_build)

    def restore_build(self) -> None:
        """As it was without a mutant, times of files included: nothing is compiled again."""
        _copy_changed(self._pristine_build, self.checkout / "build")

    @contextlib.contextmanager
    def applied(self, mutant: Mutant) -> Iterator[None]:
        file = self.checkout / mutant.file
        before, times = file.read_bytes(), file.stat()
        try:
            _forget_bytecode(file)
            file.write_text(mutant.text)
            yield
        finally:
            file.write_bytes(before)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            _forget_bytecode(file)
            if mutant.language == "c++":
                self.restore_build()


def _locked(file: Path) -> TextIO:
    lock = file.open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"mutants are being tried in {file.parent}: name another directory with --scratch") from None
    return lock


def _git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(directory), *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def _forget_bytecode(file: Path) -> None:
    """Python tells versions apart by size and second: a mutant has both in common with the original."""
    for each in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        each.unlink()


def _copy_changed(source: Path, to: Path) -> None:
    """Makes `to` what `source` is; files of the same size and time are left alone."""
    to.mkdir(exist_ok=True)
    theirs = {each.name: each for each in os.scandir(source)}
    for each in os.scandir(to):
        if each.name not in theirs:
            shutil.rmtree(each) if each.is_dir(follow_symlinks=False) else os.unlink(each)
    for name, each in theirs.items():
        copy = to / name
        if each.is_dir(follow_symlinks=False):
            _copy_changed(Path(each), copy)
        elif not os.path.lexists(copy) or _state(copy) != _state(Path(each)):
            shutil.copy2(each, copy, follow_symlinks=False)


def _state(file: Path) -> tuple[int, int]:
    known = file.lstat()
    return known.st_size, known.st_mtime_ns
