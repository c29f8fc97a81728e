"""Variants for tests."""

from windtunnel.engine.plan import Variant, Variants


def variant(name, delays=(), batch=None, inflight=None) -> Variant:
    return Variant(name=name, delays=list(delays), batch=batch or {}, inflight=inflight)


def variants_of(number: int, order=None, settle_ns: int = 5_000_000) -> Variants:
    """So many, of which all but the first one have other batches."""
    changed = [variant(f"batch {n}", batch={"server": {"app_rx": n}}) for n in range(1, number)]
    return Variants(settle_ns=settle_ns, variants=[variant("as it is"), *changed], order=order or list(range(number)))
