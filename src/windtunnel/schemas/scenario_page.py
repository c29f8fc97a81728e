"""The page of keys, docs/reference/scenario.md, as Markdown."""

from collections.abc import Iterator
from inspect import cleandoc

from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.reference import Key, keys_of
from windtunnel.scenario.table import Table

HEAD = """\
# Scenario keys

<!-- Generated from src/windtunnel/scenario/keys.py by `python -m windtunnel.schemas`. -->

A scenario is one TOML file. Its first line, a comment, is the question that it answers. Quantities have a unit: `"500ms"`,
`"64KiB"`, `"1.5Mpps"` (durations `ns us ms s min h`, sizes `B KB MB GB KiB MiB GiB`, rates in messages per second `pps kpps Mpps` or
`/s k/s M/s`). A size may also be a plain number of bytes. `--set server.batch.app_rx=64` changes one key from the command
line, `--set workload.0.request=1KiB` one in a list.

Message sizes are UDP payload, including the 16-byte message header of the first segment: a size of 22 makes a 64-byte mbuf, 86 one of 128 bytes. Each further
segment repeats the header. The IP packet of a segment has at most `mtu` bytes.

`windtunnel check FILE` shows the errors of a file, or which stage runs on which CPU. It opens the handlers as the run would, so it refuses what the run would refuse. How to write a scenario: [Write a scenario](../how-to/write-a-scenario.md).
"""

ROW = "| `{}` | {} | {} | {} |"


def page() -> str:
    """The page with all tables, each after the one that holds it; a table in two places is shown in the first."""
    return HEAD + tables(Scenario)


def tables(root: type[Table]) -> str:
    """The tables of the keys of any file whose keys are models."""
    return "".join(_table("", root, cleandoc(root.__doc__ or ""), False, {}))


def _table(path: str, table: type[Table], about: str, many: bool, titles: dict[type[Table], str]) -> Iterator[str]:
    yield f"\n## {_title(path, many)}\n\n"
    if table in titles:
        yield f"As {titles[table]}.\n"
        return
    titles[table] = _title(path, many)
    keys = keys_of(table).values()
    yield f"{about[:1].upper()}{about[1:]}\n\n| key | takes | default | meaning |\n|---|---|---|---|\n"
    for key in keys:
        yield ROW.format(key.name, _cell(_takes(path, key)), _code(key.default), _cell(key.help)) + "\n"
    for key in keys:
        if key.table:
            inner = f"{path}.{key.name}" if path else key.name
            yield from _table(inner, key.table, cleandoc(key.table.__doc__ or key.help), key.many, titles)


def _takes(path: str, key: Key) -> str:
    inner = f"{path}.{key.name}" if path else key.name
    return _title(inner, key.many) if key.table else key.wanted


def _title(path: str, many: bool) -> str:
    return f"`{f'[[{path}]]' if many else f'[{path}]'}`" if path else "The file"


def _code(default: str) -> str:
    return f"`{default}`" if default not in ("", "required") else default


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
