"""Sizes that differ from message to message: from a genome, a range or a file to the plan's list.

Sizes are UDP payload, as everywhere; a genome's are those of whole Ethernet frames, FCS included (RFC 6985).
"""

from functools import lru_cache
from pathlib import Path as File

from windtunnel.engine import plan as plans
from windtunnel.engine.plan_values import MAX_MESSAGE_BYTES, MESSAGE_HEADER_BYTES
from windtunnel.errors import UserError
from windtunnel.scenario.frames import around_ip_bytes, ip_udp_header_bytes
from windtunnel.scenario.keys import Client, Scenario, Server
from windtunnel.scenario.refusal import Path, Refusal
from windtunnel.scenario.traffic_keys import Sizes
from windtunnel.text_file import hinted, quotable, read_text

GENOME = dict(zip("abcdefghij", (64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000, 16000), strict=True))
"""RFC 6985's table. Its z is the MTU; its capital letters are the user's own."""
MAX_SIZES = 65536
MAX_FILE_BYTES = 16 << 20
LINES = "lines of a size in bytes and, if it is not 1, its weight: 86 0.7"

KEYS = {
    "imix": {"genome"},
    "uniform": {"least", "most"},
    "zipf": {"least", "most", "exponent"},
    "file": {"file"},
}
"""What each distribution cannot do without."""
OPTIONAL = {"imix": {"custom"}, "zipf": {"step"}}


def plan_sizes(scenario: Scenario, index: int, key: str) -> plans.Sizes | None:
    """The sizes of a workload's "request" or "response" in the plan's words; None if all are alike. Raises Refusal."""
    sizes: Sizes | None = getattr(scenario.workload[index], f"{key}_sizes")
    if sizes is None:
        return None
    here: Path = ("workload", index, f"{key}_sizes")
    _check_keys(sizes, here)
    if sizes.distribution == "imix":
        return _sequence(_genome(sizes, scenario.client or scenario.server or Client(), here))
    if sizes.distribution == "file":
        return _weighted(*_file(scenario.source.file.parent / str(sizes.file), here))
    assert sizes.least is not None and sizes.most is not None
    if sizes.least > sizes.most:
        raise Refusal((*here, "least"), f"least is {sizes.least}, most {sizes.most}", "least below most")
    if sizes.distribution == "uniform":
        return plans.Sizes(kind="uniform", bytes=[sizes.least, sizes.most], weights=[])
    return _weighted(*_zipf(sizes, here))


def _check_keys(sizes: Sizes, here: Path) -> None:
    kind = sizes.distribution
    if missing := [key for key in sorted(KEYS[kind]) if getattr(sizes, key) is None]:
        raise Refusal(here, f"{here[-1]}.{missing[0]} is missing", f'required by distribution = "{kind}"')
    allowed = {"distribution"} | KEYS[kind] | OPTIONAL.get(kind, set())
    given = {
        name
        for name, field in Sizes.model_fields.items()
        if getattr(sizes, name) != field.get_default(call_default_factory=True)
    }
    if extra := sorted(given - allowed):
        raise Refusal(
            (*here, extra[0]),
            f'{extra[0]} has no effect with distribution = "{kind}"',
            f"another distribution, or no {extra[0]}",
        )


def _genome(sizes: Sizes, keys: Client | Server, here: Path) -> list[int]:
    mtu, around_ip = keys.mtu, around_ip_bytes(keys)
    known = GENOME | {"z": mtu + around_ip} | sizes.custom
    for letter in sizes.custom:
        if len(letter) != 1 or not "A" <= letter <= "Z":
            raise Refusal((*here, "custom"), f'custom: "{letter}" is not one capital letter', "as in { A = 90 }")
    genome = str(sizes.genome)
    if not 1 <= len(genome) <= MAX_SIZES:
        raise Refusal((*here, "genome"), f"a genome of {len(genome)} letters", f"1 to {MAX_SIZES} letters")
    for place, letter in enumerate(genome, start=1):
        if letter not in known:
            raise Refusal(
                (*here, "genome"),
                f'genome: letter {place} is "{letter}", which has no size',
                f"one of {''.join(known)}; `custom` sets the sizes of capital letters",
            )
        if known[letter] > mtu + around_ip:
            raise Refusal(
                (*here, "genome"),
                f'genome: letter {place}, "{letter}", is a frame of {known[letter]} bytes, and an MTU of {mtu} allows '
                f"{mtu + around_ip}",
                f"an mtu of {known[letter] - around_ip}" if known[letter] - around_ip <= 9000 else "a smaller one",
            )
    headers = around_ip + ip_udp_header_bytes(keys)
    return [known[letter] - headers for letter in genome]


def _zipf(sizes: Sizes, here: Path) -> tuple[tuple[int, ...], tuple[float, ...]]:
    assert sizes.least is not None and sizes.most is not None and sizes.exponent is not None
    values = range(sizes.least, sizes.most + 1, sizes.step)
    if len(values) > MAX_SIZES:
        step = -(-(sizes.most - sizes.least) // (MAX_SIZES - 1))
        raise Refusal((*here, "step"), f"{len(values)} sizes, more than {MAX_SIZES}", f"step = {step}")
    return tuple(values), tuple(rank**-sizes.exponent for rank in range(1, len(values) + 1))


def _file(file: File, here: Path) -> tuple[tuple[int, ...], tuple[float, ...]]:
    try:
        state = file.stat()
        return _read(file, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise Refusal((*here, "file"), f"{file}: {(error.strerror or str(error)).lower()}", LINES) from None
    except UserError as error:
        raise Refusal((*here, "file"), error.message, LINES) from None


@lru_cache
def _read(file: File, _changed: int, _size: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    sizes: list[int] = []
    weights: list[float] = []
    if not file.is_file():
        raise UserError(f"{file}: not a file")
    for number, line in enumerate(read_text(file, MAX_FILE_BYTES, LINES).splitlines(), start=1):
        fields = line.partition("#")[0].replace(",", " ").split()
        if not fields:
            continue
        try:
            size, weight = int(fields[0]), float(fields[1]) if len(fields) > 1 else 1.0
        except ValueError:
            what = hinted(f"not a size and a weight{_quoted(file, line)}", line)
            raise UserError(f"{file}:{number}: {what}") from None
        if len(fields) > 2 or not MESSAGE_HEADER_BYTES <= size <= MAX_MESSAGE_BYTES or not 0 <= weight < 1e300:
            raise UserError(
                f"{file}:{number}: a size is from 16 to {MAX_MESSAGE_BYTES}, a weight not below 0{_quoted(file, line)}"
            )
        sizes.append(size)
        weights.append(weight)
    if not 0 < len(sizes) <= MAX_SIZES or sum(weights) == 0:
        raise UserError(
            f"{file}: {len(sizes)} sizes with a weight of {sum(weights):g} in total; 1 to {MAX_SIZES} sizes are allowed"
        )
    return tuple(sizes), tuple(weights)


def _quoted(file: File, line: str) -> str:
    return f": {line.strip()[:40]!r}" if quotable(file) else ""


def _sequence(sizes: list[int]) -> plans.Sizes:
    return plans.Sizes(kind="sequence", bytes=sizes, weights=[])


def _weighted(sizes: tuple[int, ...], weights: tuple[float, ...]) -> plans.Sizes:
    return plans.Sizes(kind="weighted", bytes=list(sizes), weights=list(weights))
