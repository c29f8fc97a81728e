"""What the engine says of libfabric's providers."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, TypeAdapter, ValidationError

from windtunnel.engine.query import REBUILD, query
from windtunnel.errors import UserError


class RdmaOffer(BaseModel):
    """What a provider of libfabric claims for a type and a domain; 0: it claims nothing."""

    provider: str
    type: Literal["rc", "ud", "rdm"]
    domain: str
    largest: int
    """Bytes of a message."""
    endpoints: int
    """Most endpoints of a domain: queue pairs, if it has those."""
    most_sends: int
    most_receives: int
    """Posted at once, of an endpoint."""


_RDMA_OFFERS = TypeAdapter(list[RdmaOffer] | None)


def rdma_offers(engine: Path) -> list[RdmaOffer] | None:
    """What libfabric's providers offer on this host; None: the engine was built without it. Raises UserError with the engine's own
    words."""
    try:
        return _RDMA_OFFERS.validate_json(query(engine, ["--rdma"]))
    except ValidationError as error:
        raise UserError(f"{engine} --rdma: not a list of offers: {error.errors()[0]['msg']}", remedy=REBUILD) from error
