"""What tests of the spine ask models for."""

from pathlib import Path

from net import command, rendered

COMMANDS = ("model fit", "model predict", "model what-if", "model validate")


def _read(path: Path) -> object:
    from windtunnel.parts.models.model_record import read

    return read(path)


def _kept(path: Path) -> str:
    from windtunnel.parts.models.fit_document import model_document
    from windtunnel.parts.models.model_record import read

    return rendered(model_document(read(path)))


KEPT_VIEWS = {
    "model.json": {
        "kept": _kept,
        "predict": command("model", "predict", "INPUT", "--entries", "50k", "--allow-other-host"),
    },
    "study-tables": {"fit": command("model", "fit", "INPUT", "--json")},
}
READ_RECORD = _read
"""Reads a record that somebody may have sent."""
