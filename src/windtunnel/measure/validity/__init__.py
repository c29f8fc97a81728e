"""A run judges itself before anyone else does: `validate` looks at its windows and says what of them can be believed.

disturbed   windows in which the host took a worker's core, or slowed its clock down
steady      where the warm-up really ended, and whether the figures drifted afterwards
generator   a client too slow for its rate, apart from a data plane too slow for its load
clocks      the TSC against the kernel's clock, and stamps against what they measure
"""

from windtunnel.measure.validity.validate import validate

__all__ = ["validate"]
