"""Sharing: many poll-mode tenants on few cores.

Slicers make microsecond slices on stock Linux, pools assign cores by weight, and a daemon maintains both and takes requests of
tenants. A simulator and a model give estimates, also for other machines.
"""

MAX_LOSS = 0.08
"""Default of what slices may cost: the part of a core's time outside them."""
