"""Faults that somebody else has planted: a folder of scenarios, their twins, and what a diagnosis may say of each.

NAME.fault.toml   a scenario with a fault; what it needs, as a plug-in, is where it names it
NAME.twin.toml    the same without the fault
right.toml        NAME = [codes of causes, or kinds of limits, that are right]
"""

import tomllib
from pathlib import Path

from harness.faults import Fault
from windtunnel.errors import UserError

FAULT, TWIN = ".fault.toml", ".twin.toml"


def read_folder(folder: Path) -> list[Fault]:
    """The faults of a folder, by name. Raises UserError for one without a twin, or of which nothing says what is right."""
    right = _right(folder / "right.toml")
    faults = []
    for file in sorted(folder.glob(f"*{FAULT}")):
        name = file.name.removesuffix(FAULT)
        twin = file.with_name(f"{name}{TWIN}")
        if not twin.exists():
            raise UserError(f"{file}: there is no {twin.name}", "write the same scenario without the fault")
        if name not in right:
            raise UserError(f"{folder / 'right.toml'}: {name} is missing", f'add a line: {name} = ["handler"]')
        faults.append(Fault((name,), name, tuple(right[name]), pair=(file, twin)))
    if not faults:
        raise UserError(f"{folder}: there is no NAME{FAULT}", "name a folder with scenarios and their twins")
    return faults


def _right(file: Path) -> dict[str, list[str]]:
    try:
        return tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{file}: {error}", 'write a line for each fault: NAME = ["handler"]') from error
