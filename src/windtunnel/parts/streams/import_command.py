"""windtunnel import epping: a configuration of mTCP's example becomes a scenario."""

from typing import TYPE_CHECKING, Annotated

import typer

from windtunnel.cli.imports import File, Out

if TYPE_CHECKING:
    from windtunnel.parts.streams.epping import Options

Length = Annotated[str | None, typer.Option("-l", metavar="SIZE", help="Size of a write, as in 4k or 1m.")]
Count = Annotated[int | None, typer.Option("-n", min=1, max=10**9, metavar="COUNT", help="Number of writes.")]
ByEngine = Annotated[bool, typer.Option("-d", help="DSA copies from the application to the send buffer.")]
Unpack = Annotated[bool, typer.Option("-u", help="DSA copies into packets.")]
Payload = Annotated[int | None, typer.Option("-m", min=1, metavar="BYTES", help="Payload of a packet.")]


def epping(
    file: File,
    length: Length = None,
    count: Count = None,
    by_engine: ByEngine = False,
    unpack: Unpack = False,
    payload: Payload = None,
    out: Out = None,
) -> None:
    """Import a configuration of epping, the example on mTCP of Intel's guide to DSA.

    The options -l, -n, -d, -u and -m are those of epping itself. What has no counterpart is listed with the reason at the top of the scenario
    and on stderr.

    windtunnel import epping epping.conf -l 1m -n 128 -d --out epping.toml
    windtunnel import epping epping.conf -du -m 4096 --out unpack.toml
    """
    from windtunnel.exchange.imported_run import write_new
    from windtunnel.exchange.source import read
    from windtunnel.parts.streams.epping import read_config, scenario_text
    from windtunnel.printing import print_file
    from windtunnel.results.terminal.messages import show_warning

    options = _options(length, count, by_engine, unpack, payload)
    foreign = read(file)
    text, notes = scenario_text(foreign, read_config(foreign), options)
    if out is None:
        print_file(text)
    else:
        write_new(out, text)
    for note in notes:
        show_warning(note)


def _options(length: str | None, count: int | None, by_engine: bool, unpack: bool, payload: int | None) -> "Options":
    """Raises UserError for a size that epping does not take."""
    import re

    from windtunnel.errors import UserError
    from windtunnel.parts.streams.epping import Options

    match = None if length is None else re.fullmatch(r"([1-9][0-9]{0,9})([km]?)", length, re.IGNORECASE | re.ASCII)
    if length is not None and match is None:
        raise UserError(f"-l {length} is no size of epping", remedy="as in -l 4k, -l 1m or -l 4096")
    size = None if match is None else int(match[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[match[2].lower()]
    return Options(size, count, by_engine, unpack, payload)
