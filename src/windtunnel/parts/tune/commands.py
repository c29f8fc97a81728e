"""The command of the tuner. It imports what it needs when it runs."""

from windtunnel.parts.tune.tune_command import tune

MEASURE = (tune,)
