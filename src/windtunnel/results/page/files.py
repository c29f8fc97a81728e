"""Pages as files. Those of several runs in a directory may share one file of plotly.js."""

import os
from hashlib import sha256
from pathlib import Path

from windtunnel.engine.walked import others_may_write, walk
from windtunnel.errors import UserError
from windtunnel.results.document import Document
from windtunnel.results.page.renderer import plotly_js, render
from windtunnel.runs.files import check_new, replace
from windtunnel.text_file import read_regular

REPORT = "report.html"


def write_page(document: Document, path: Path) -> Path:
    """Writes the page in the place of an earlier one, and returns its path. Raises UserError if it cannot be written."""
    replace(path, render(document))
    return path


def write_new_page(document: Document, path: Path) -> Path:
    """Writes the page to a new file and returns its path. Raises UserError if the file exists or cannot be written."""
    check_new(path)
    return write_page(document, path)


def write_plotly(directory: Path) -> str | None:
    """Writes plotly.js into the directory and returns its name, which says what is in it: a newer one does not take its place, and what somebody
    else has put there under its name does not stay. None if others may write into the directory, or own it: they could put another script
    in its place later, which would run in the pages."""
    if not _is_ours_alone(directory):
        return None
    script = plotly_js()
    name = f"plotly-{sha256(script).hexdigest()[:12]}.js"
    file = directory / name
    if not _holds(file, script):
        replace(file, script.decode())
    return name


def _is_ours_alone(directory: Path) -> bool:
    passed: list[os.stat_result] = []
    try:
        os.close(walk(directory, passed, follow=True))
    except OSError:
        return False
    return passed[-1].st_uid in (0, os.geteuid()) and not others_may_write(passed[-1])


def _holds(file: Path, script: bytes) -> bool:
    """Whether the file is this script and stays so: of this user or root, who alone may write it, and under no other name."""
    try:
        status = file.lstat()
        own = status.st_uid in (0, os.geteuid()) and status.st_nlink == 1 and not others_may_write(status)
        return own and read_regular(file, len(script) + 1) == script
    except (OSError, UserError):
        return False
