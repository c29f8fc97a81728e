"""One run of a scenario whose batches, in-flight limit or stages change between windows.

What the host does for seconds at a time then affects all variants alike, as with runs in turn, and nothing is restarted for a variant:
a difference of some percent shows in seconds. What a run has from its start on cannot change in it; `windtunnel compare` runs two
scenarios in turn.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.plan import Delay, Variant, Variants
from windtunnel.engine.plan_values import STAGES, Batched, Inflight, Side, Stage
from windtunnel.engine.supervisor import Listener
from windtunnel.errors import UserError, as_argument
from windtunnel.measure.execute import RunOutcome, execute
from windtunnel.scenario import Scenario, here, resolve

SETTLE_NS = 5_000_000
"""Time to settle: more than the messages in flight take to come back, at a hundred thousand a second and more."""
AS_IT_IS = "as it is"
"""Name of the first variant."""
BATCHES = {f"{side}.batch.{stage}": (side, stage) for side in get_args(Side) for stage in STAGES}
INFLIGHT = "client.inflight"


def variant(name: str, sets: Mapping[str, Any] | None = None, delays: Sequence[Delay] = ()) -> Variant:
    """A variant by what it changes: keys of the scenario with their values, and delays of stages.

    Raises UserError for a key that cannot change within a run, and for a value out of its range.
    """
    batch: dict[Side, dict[Stage, int]] = {}
    inflight = None
    for key, value in (sets or {}).items():
        if key == INFLIGHT:
            inflight = _checked(key, value, Inflight)
        elif key in BATCHES:
            side, stage = BATCHES[key]
            batch.setdefault(side, {})[stage] = _checked(key, value, Batched)
        else:
            raise UserError(
                f"{key}: cannot change within a run, only batch.* and {INFLIGHT} can",
                remedy=f"windtunnel compare A B runs two scenarios in turn, as with --set-b {as_argument(f'{key}={value}')}",
            )
    return Variant(name=name, delays=list(delays), batch=batch, inflight=inflight)


def in_order(changed: Sequence[Variant], windows: int, seed: int, settle_ns: int = SETTLE_NS) -> Variants:
    """The scenario as it is and the changed ones, for `windows` measured windows: blocks in which each variant has one window, in an
    order drawn for each block."""
    variants = [variant(AS_IT_IS), *changed]
    coin = random.Random(seed)
    blocks = -(-windows // len(variants))
    order = [number for _ in range(blocks) for number in coin.sample(range(len(variants)), len(variants))]
    return Variants(settle_ns=settle_ns, variants=variants, order=order)


def execute_variants(
    scenario: Scenario,
    changed: Sequence[Variant],
    directory: Path,
    interrupts: Interrupts,
    listeners: Sequence[Listener] = (),
    settle_ns: int = SETTLE_NS,
) -> RunOutcome:
    """Runs a loaded scenario for its duration, as it is and changed, into the new `directory`; settling comes on top. The order is
    drawn from the scenario's seed. `windtunnel.runs.variants` has the rows.

    Raises UserError as `execute` does, and for a scenario that cannot run here.
    """
    windows = max(1, scenario.duration // scenario.window)
    variants = in_order(changed, windows, scenario.seed, settle_ns)
    return execute(resolve(scenario, here(), variants=variants), directory, interrupts, listeners)


def _checked(key: str, value: object, kind: Any) -> int:
    try:
        checked: int = TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError as error:
        raise UserError(f"{key} is {value!r}: {error.errors()[0]['msg'].lower()}") from None
    return checked
