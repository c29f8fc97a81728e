"""Reads a file for `windtunnel share serve`; refused as a scenario's: file, line, what is wrong, what would be right."""

from pathlib import Path

from pydantic import ValidationError

from windtunnel.errors import UserError
from windtunnel.scenario.load import parsed, refusal_of
from windtunnel.scenario.refusal import Source
from windtunnel.scenario.text_file import read_text
from windtunnel.sharing.daemon.keys import Serve

MAX_FILE_BYTES = 1 << 20
EXAMPLE = 'slice = "100us" and a [[tenant]] with name = "kv" and pidfile = "kv.pid"'


def read(file: Path) -> Serve:
    """Raises UserError."""
    text = read_text(file, MAX_FILE_BYTES, f"name a file that says who shares: {EXAMPLE}")
    data = parsed(file, text)
    if "workload" in data:
        raise UserError(f"{file}: a scenario, not tenants that share", remedy=f"windtunnel run {file}")
    try:
        return Serve.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Source(file, text).error(refusal_of(first, Serve, "the file")) from None
