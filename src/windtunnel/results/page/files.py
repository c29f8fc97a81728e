"""Pages as files. Those of several runs in a directory may share one file of plotly.js."""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

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


def write_plotly(directory: Path) -> str:
    """Writes plotly.js into the directory and returns its name, which says what is in it: a newer one does not take its place, and what somebody
    else has put there under its name does not stay."""
    script = plotly_js()
    name = f"plotly-{sha256(script).hexdigest()[:12]}.js"
    file = directory / name
    with suppress(OSError, UserError):
        if read_regular(file, len(script) + 1) == script:
            return name
    replace(file, script.decode())
    return name
