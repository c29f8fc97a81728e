"""windtunnel pcie: the traffic of packets on a PCIe link, and the NICs that are known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from windtunnel.cli import completion
from windtunnel.cli.shared_options import Format, IncludeInvalid, Json
from windtunnel.printing import print_file, print_values

if TYPE_CHECKING:
    from windtunnel.parts.pcie.estimate import Settings
    from windtunnel.parts.pcie.facts import NicLink
    from windtunnel.parts.pcie.link import Link
    from windtunnel.parts.pcie.measured import Measured
    from windtunnel.parts.pcie.nic import Nic
    from windtunnel.parts.pcie.port_estimate import PortEstimate

Run = Annotated[
    Path | None,
    typer.Argument(
        metavar="[RUN]",
        help="Run directory: take its rates, sizes and bursts.",
        show_default=False,
        autocompletion=completion.runs,
    ),
]
Pps = Annotated[
    str | None,
    typer.Option("--pps", metavar="RATE", help="Packets per second, as in 10M or 10Mpps. Not with RUN and --sweep."),
]
Size = Annotated[
    str | None,
    typer.Option(
        "--size", metavar="BYTES", help="Packet size in memory, without FCS. Not with RUN.", show_default="64"
    ),
]
Burst = Annotated[
    str | None,
    typer.Option(
        "--burst",
        metavar="SIZES",
        help="Packets per burst: 4; or 4,8 in equal parts; or 4:3,8:1 by shares. Not with RUN, --from-testpmd and --sweep.",
        show_default="32",
    ),
]
Log = Annotated[
    Path | None,
    typer.Option(
        "--from-testpmd", metavar="LOG", help="Take the traffic from testpmd's output with --record-burst-stats."
    ),
]
Sweep = Annotated[bool, typer.Option("--sweep", help="Plot the charts of the VTune recipe over the packet rate.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="With --sweep: file of the new page.", show_default="pcie-sweep.html"),
]
NicName = Annotated[
    str | None,
    typer.Option(
        "--nic", metavar="NIC", help="A NIC of `windtunnel pcie nics`, or a TOML file.", show_default="generic"
    ),
]
Generation = Annotated[
    int | None, typer.Option("--gen", help="Generation of the link, 1 to 5.", show_default="the NIC's")
]
Lanes = Annotated[int | None, typer.Option("--lanes", help="Lanes of the link.", show_default="the NIC's")]
Mps = Annotated[int | None, typer.Option("--mps", help="Maximum payload size in bytes.", show_default="256")]
Mrrs = Annotated[int | None, typer.Option("--mrrs", help="Maximum read request size in bytes.", show_default="512")]
Rcb = Annotated[int | None, typer.Option("--rcb", help="Read completion boundary in bytes.", show_default="64")]
Completions = Annotated[
    Literal["mps", "rcb"] | None,
    typer.Option(
        "--completions",
        help="Read completions fill the payload size (mps), or end at every boundary (rcb).",
        show_default="mps",
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="ADDRESS",
        help="PCI address of a NIC of this host: take its link. The other options of the link come before it.",
    ),
]
RxFree = Annotated[
    int | None, typer.Option("--rx-free", help="Rx free threshold in descriptors.", show_default="the driver's")
]
TxRs = Annotated[
    int | None, typer.Option("--tx-rs", help="Tx RS threshold in descriptors.", show_default="the driver's")
]
Ring = Annotated[int | None, typer.Option("--ring", help="Descriptors of each queue.", show_default="1024")]
Inline = Annotated[
    int | None, typer.Option("--inline", help="Send packets up to this many bytes inline.", show_default="the NIC's")
]
Compressed = Annotated[
    float | None, typer.Option("--compressed", help="Share of the completions that are compressed.", show_default="0")
]
Counters = Annotated[
    Path | None,
    typer.Option(
        "--measured",
        metavar="FILE",
        help="Output of `perf iostat`, `pcm-iio -csv` or `pcm-pcie -B -csv`, to compare with. Not with --sweep.",
    ),
]

MeasuredAt = Annotated[
    list[str] | None,
    typer.Option(
        "--measured-at",
        metavar="RATE=FILE",
        help="With --sweep: such output at this packet rate, drawn beside the estimate. Repeatable.",
    ),
]

SIZE, BURST, RING = "64", "32", 1024
USELESS = {
    "RUN": {"--pps": "its own rates", "--size": "its own sizes", "--burst": "its own bursts"},
    "--from-testpmd": {"--burst": "its own bursts"},
    "--sweep": {
        "--pps": "its own rates",
        "--burst": "its own bursts",
        "--measured": "several rates: --measured-at RATE=FILE",
        "--json": "only a page",
    },
}
"""Source of the traffic -> options that it excludes, and their replacement."""


def estimate(
    run: Run = None,
    pps: Pps = None,
    size: Size = None,
    burst: Burst = None,
    from_testpmd: Log = None,
    sweep: Sweep = False,
    out: Out = None,
    nic: NicName = None,
    generation: Generation = None,
    lanes: Lanes = None,
    mps: Mps = None,
    mrrs: Mrrs = None,
    rcb: Rcb = None,
    completions: Completions = None,
    device: Device = None,
    rx_free: RxFree = None,
    tx_rs: TxRs = None,
    ring: Ring = None,
    inline: Inline = None,
    compressed: Compressed = None,
    measured: Counters = None,
    measured_at: MeasuredAt = None,
    include_invalid: IncludeInvalid = False,
    json: Json = False,
    format_: Format = "text",
) -> None:
    """Estimate the PCIe traffic of packets.

    Shows MB/s by direction, bytes per packet, the share of the link and the rate at which the link is full. Estimates are
    computed, never measured. Without RUN, --from-testpmd and --sweep: one queue that sends what it receives.

    windtunnel pcie estimate --pps 10M --size 64 --burst 4
    windtunnel pcie estimate --pps 13M --burst 4,8 --nic ixgbe --lanes 4
    windtunnel pcie estimate runs/2026-11-21T10-00-00Z-echo --nic i40e
    windtunnel pcie estimate --from-testpmd testpmd.txt --size 64 --pps 14.8M
    windtunnel pcie estimate --pps 14.8M --nic ice --device 0000:17:00.0
    windtunnel pcie estimate --sweep --out sweep.html
    windtunnel pcie estimate --sweep --measured-at 5M=pcm-5.csv --measured-at 10M=pcm-10.csv
    """
    from dataclasses import replace

    from windtunnel.parts.pcie.measured import measured_with_run, read_measured
    from windtunnel.parts.pcie.nic import GENERIC, load_nic

    _check(
        {"RUN": run, "--from-testpmd": from_testpmd, "--sweep": sweep or None},
        {
            "--pps": pps,
            "--size": size,
            "--burst": burst,
            "--out": out,
            "--measured": measured,
            "--measured-at": measured_at or None,
            "--json": json or None,
        },
    )
    size, burst = SIZE if size is None else size, BURST if burst is None else burst
    card = load_nic(GENERIC if nic is None else nic)
    given = {"generation": generation, "lanes": lanes, "mps": mps, "mrrs": mrrs, "rcb": rcb, "completions": completions}
    negotiated = _negotiated(device)
    known = negotiated.known if negotiated else {}
    wire = known | {name: value for name, value in given.items() if value is not None}
    link = _link(card, wire)
    chosen = {
        "rx_free": rx_free,
        "tx_rs": tx_rs,
        "rx_ring": ring,
        "tx_ring": ring,
        "inline": inline,
        "compressed": compressed,
    }
    chosen = {name: value for name, value in chosen.items() if value is not None}
    if sweep:
        _sweep(card, _settings(chosen), link, size, out, measured_at or [])
        return
    if run:
        ports = _of_run(run, nic, chosen, wire, include_invalid)
    elif from_testpmd:
        ports = _of_testpmd(from_testpmd, card, chosen, link, size, pps)
    else:
        assert pps is not None  # checked with the other options
        ports = [_of_words(card, _settings(chosen), link, pps, size, burst)]
    if negotiated:
        ports = [replace(port, upstream=negotiated.upstream) for port in ports]
    counters = read_measured(measured) if measured else measured_with_run(run) if run else None
    _show(ports, counters, json)


def nics(
    name: Annotated[
        str | None, typer.Argument(metavar="NIC", help="Show every number of this NIC.", show_default=False)
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the file of the NIC, to start your own from.")] = False,
    format_: Format = "text",
) -> None:
    """List the NICs that estimates know.

    With a NIC: show every number of it and its source.

    windtunnel pcie nics
    windtunnel pcie nics mlx5
    windtunnel pcie nics generic --toml > mine.toml
    """
    from windtunnel.parts.pcie.nic import GENERIC, load_nic, shipped, text_of

    if toml:
        print_file(text_of(name or GENERIC))
        return
    from windtunnel.parts.pcie.document import nic_document, nics_document
    from windtunnel.results.show import show

    show(nic_document(load_nic(name)) if name else nics_document([load_nic(nic_name) for nic_name in shipped()]))


def _check(sources: dict[str, object], options: dict[str, object]) -> None:
    """Checks that there is one source of the traffic, and no option without effect."""
    from windtunnel.errors import UserError

    chosen_sources = [name for name, value in sources.items() if value is not None]
    if len(chosen_sources) > 1:
        raise UserError(f"{' and '.join(chosen_sources)} exclude each other", remedy="give one of them")
    source = chosen_sources[0] if chosen_sources else "--pps"
    for name, example in (("--out", "--out FILE"), ("--measured-at", "--measured-at 10M=FILE")):
        if options[name] and source != "--sweep":
            raise UserError(f"{name} needs --sweep", remedy=f"--sweep {example}")
    for name, has in USELESS.get(source, {}).items():
        if options[name] is not None:
            raise UserError(f"{name} has no effect with {source}, which has {has}", remedy="give one of them")
    if not chosen_sources and options["--pps"] is None:
        raise UserError("no traffic to estimate", remedy="--pps 10M, a run directory, --from-testpmd LOG, or --sweep")


def _link(card: "Nic", overrides: dict[str, Any]) -> "Link":
    from windtunnel.parts.pcie.link import Link

    return Link(**({"generation": card.link.generation.number, "lanes": card.link.lanes.number} | overrides))


def _negotiated(address: str | None) -> "NicLink | None":
    """What this host knows of the link of a NIC; None without an address. Raises UserError for a NIC that it does not have."""
    from windtunnel.errors import UserError
    from windtunnel.parts.pcie.facts import read

    if address is None:
        return None
    links = {link.address: link for link in read(Path("/"))["pcie_links"]}
    if address not in links:
        there = ", ".join(links) or "this host has none: give --gen, --lanes, --mps and --mrrs"
        raise UserError(f"--device: no NIC {address} with a PCIe link", remedy=there)
    return links[address]


def _settings(chosen: dict[str, Any]) -> "Settings":
    from windtunnel.parts.pcie.estimate import Settings

    return Settings(**({"rx_ring": RING, "tx_ring": RING} | chosen))


def _of_run(
    path: Path, nic: str | None, chosen: dict[str, Any], wire: dict[str, Any], include_invalid: bool
) -> "list[PortEstimate]":
    from windtunnel.errors import UserError, as_argument
    from windtunnel.parts.pcie.run_estimate import ports_of
    from windtunnel.results.terminal.messages import show_warning
    from windtunnel.runs import load

    run = load(path)
    if run.record.imported:
        raise UserError(
            f"{path}: imported from {run.record.imported.tool}, which does not report rates and sizes",
            remedy=f"--from-testpmd {as_argument(path / 'source.txt')}, if testpmd wrote it",
        )
    run.require_usable(include_invalid)
    if run.rejected:
        show_warning(f"1 invalid run included: {run.record.verdict.reasons[0]}")
    return ports_of(run, nic, chosen, wire)


def _of_testpmd(
    log: Path, card: "Nic", chosen: dict[str, Any], link: "Link", size: str, pps: str | None
) -> "list[PortEstimate]":
    from dataclasses import asdict

    from windtunnel.parts.pcie import traffic_options
    from windtunnel.parts.pcie.testpmd_estimate import ports_of, read_counted

    directions, settings = read_counted(log)
    printed = {name: value for name, value in asdict(settings).items() if value is not None}
    return ports_of(
        directions,
        card,
        _settings(printed | chosen),
        link,
        traffic_options.size(size),
        traffic_options.rate(pps) if pps else None,
    )


def _of_words(card: "Nic", settings: "Settings", link: "Link", pps: str, size: str, burst: str) -> "PortEstimate":
    from windtunnel.parts.pcie import traffic_options
    from windtunnel.parts.pcie.estimate import estimate as estimate_traffic
    from windtunnel.parts.pcie.port_estimate import PortEstimate, Queue

    batches = traffic_options.bursts(burst, settings.tx_ring or RING)
    traffic = traffic_options.forwarding(traffic_options.rate(pps), traffic_options.size(size), batches)
    queue = Queue(0, estimate_traffic(traffic, card, settings, link))
    return PortEstimate("asked", card.name, card.nic.title, True, link, [queue])


def _sweep(
    card: "Nic", settings: "Settings", link: "Link", size: str, out: Path | None, measured_at: list[str]
) -> None:
    from windtunnel.parts.pcie import traffic_options
    from windtunnel.parts.pcie.compared import named, of_sweep
    from windtunnel.parts.pcie.document import sweep_document
    from windtunnel.parts.pcie.sweep import swept
    from windtunnel.results.page.files import write_new_page

    sweep = swept(card, settings, link, traffic_options.size(size))
    compared = of_sweep(sweep, named(measured_at))
    print_values(write_new_page(sweep_document(sweep, compared), out or Path("pcie-sweep.html")))


def _show(ports: "list[PortEstimate]", counters: "Measured | None", json: bool) -> None:
    if json:
        from json import dumps

        from windtunnel.parts.pcie.port_rows import json_document

        print(dumps(json_document(ports, counters), indent=1, ensure_ascii=False))
        return
    from windtunnel.parts.pcie.document import estimate_document
    from windtunnel.results.show import show

    show(estimate_document(ports, counters))
