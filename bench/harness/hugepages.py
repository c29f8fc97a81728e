"""Hugepages for the time of a bench. EAL runs with --in-memory: it needs pages, and no mounted hugetlbfs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from windtunnel.errors import UserError
from windtunnel.scenario import here

RESERVED = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@contextlib.contextmanager
def reserved(pages: int | None) -> Iterator[None]:
    """`pages` more pages of 2 MiB, given back at the end; nothing for None. Raises UserError."""
    if pages is None:
        yield
        return
    before = int(RESERVED.read_text())
    try:
        try:
            RESERVED.write_text(str(before + pages))
        except OSError as error:
            raise UserError(f"{RESERVED}: {error.strerror}", remedy="--hugepages needs root") from None
        if (got := int(RESERVED.read_text())) < before + pages:
            raise UserError(
                f"only {got - before} of {pages} hugepages could be reserved",
                remedy="ask for fewer, or reserve at boot",
            )
        yield
    finally:
        with contextlib.suppress(OSError):
            RESERVED.write_text(str(before))


def modes(wanted: str) -> list[str]:
    """Memory modes to measure in. Raises UserError where hugepages are demanded and none are free."""
    host = here()
    usable = host.hugepages_usable and host.hugepages_free_bytes > 0
    if wanted == "hugepages" and not usable:
        raise UserError("no hugepages are free", remedy="--hugepages 256, as root")
    if wanted == "both":
        return ["no-huge", "hugepages"] if usable else ["no-huge"]
    return [wanted]
