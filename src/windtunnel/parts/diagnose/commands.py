"""The command of a diagnosis. It imports what it needs when it runs."""

from windtunnel.parts.diagnose.diagnose_command import diagnose

MEASURE = (diagnose,)
