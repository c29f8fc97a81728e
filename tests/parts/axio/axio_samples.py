"""Texts of Axio, and what tests of the spine ask for."""

from pathlib import Path
from typing import Any

from windtunnel.exchange.source import read
from windtunnel.parts.axio.config import read_config

DATA = Path(__file__).parent / "data"
COMMANDS = ("import axio",)
IMPORTED = {"axio": DATA / "axio-client.log"}


def config_of(file: Path) -> dict[str, Any]:
    config = read_config(read(file))
    assert config is not None
    return vars(config)


SAVED_TEXTS = [(DATA / "axio-colon.conf", config_of), (DATA / "axio-server.toml", config_of)]
