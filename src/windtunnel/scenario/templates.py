"""The shipped scenarios as templates."""

import errno
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from windtunnel.errors import UserError, check_name
from windtunnel.scenario.commented import commented
from windtunnel.text_file import open_regular


@dataclass(frozen=True)
class Template:
    """A shipped scenario that stands alone, or needs only files that lie beside it."""

    name: str
    question: str
    text: str
    files: dict[str, bytes] = field(default_factory=dict)
    """What it names and must be copied along."""


def available() -> dict[str, Template]:
    """Templates by name, without those that need a script of their own or files from elsewhere: they would not work anywhere else."""
    folder = resources.files("windtunnel") / "templates"
    names = {file.name for file in folder.iterdir()}
    templates = {}
    for name in sorted(name for name in names if name.endswith(".toml")):
        stem, text = name.removesuffix(".toml"), (folder / name).read_text(encoding="utf-8")
        named = set(_texts(tomllib.loads(text)))
        if f"{stem}.sh" in names or any(word.startswith("../") for word in named):
            continue
        files = {word: (folder / word).read_bytes() for word in sorted(named & names)}
        templates[stem] = Template(stem, text.partition("\n")[0].lstrip("# "), text, files)
    return templates


def write(template: Template, file: Path) -> list[Path]:
    """Write the template, commented, to `file`, and what it names beside it; returns what was written.

    Raises UserError if one of them exists with another content; nothing is written then, and nothing overwritten ever.
    """
    check_name(file)
    wanted = {file: commented(template.text).encode()}
    wanted |= {file.parent / name: content for name, content in template.files.items()}
    missing = {path: content for path, content in wanted.items() if path == file or not _is(path, content)}
    for path in missing:
        if os.path.lexists(path):
            raise UserError(f"{path}: exists already", remedy="name another file")
    for path, content in missing.items():
        try:
            with open(path, "xb") as stream:
                stream.write(content)
        except OSError as error:
            remedy = "create its directory first" if error.errno == errno.ENOENT else None
            raise UserError(f"{path}: cannot be written: {os.strerror(error.errno or 0)}", remedy=remedy) from error
    return list(missing)


def _is(path: Path, content: bytes) -> bool:
    try:
        with os.fdopen(open_regular(path), "rb") as file:  # not a FIFO, which would be waited for
            return file.read(len(content) + 1) == content
    except OSError:
        return False


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
