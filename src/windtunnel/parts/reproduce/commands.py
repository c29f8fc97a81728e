"""The command of claims. It imports what it needs when it runs."""

from windtunnel.parts.reproduce.reproduce_command import reproduce

MEASURE = (reproduce,)
