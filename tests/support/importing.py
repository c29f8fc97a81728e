"""`windtunnel import` in the tests' own process."""

from pathlib import Path

import in_process

from windtunnel.errors import UserError
from windtunnel.runs import Run, load

DATA = Path(__file__).parent / "data"


def imported(*arguments) -> tuple[str, str]:
    """stdout and stderr. Raises what the command raises; a UserError is what ends it with exit code 2."""
    result = in_process.run("import", *arguments, COLUMNS="200")
    if result.exception:
        raise result.exception
    return result.stdout, result.stderr


def run_of(directory: Path, tool: str, text: str, *options) -> Run:
    """The run that a text becomes."""
    directory.mkdir(exist_ok=True)
    file = directory / "text.log"
    file.write_text(text)
    imported(tool, file, "--out", directory / "run", *options)
    return load(directory / "run")


def refusal(directory: Path, tool: str, text: str, *options) -> str:
    """What is said of a text that is refused, without the path in front; nothing may be left behind."""
    file = directory / "text.log"
    file.write_text(text)
    try:
        imported(tool, file, "--out", directory / "out", *options)
    except UserError as error:
        assert not (directory / "out").exists()
        return f"{error.message}\n{error.remedy or ''}".replace(f"{file}", "text")
    raise AssertionError("was not refused")
