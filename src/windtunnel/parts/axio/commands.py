"""The command `windtunnel import axio`. It imports what it needs when it runs."""

from windtunnel.parts.axio.import_command import axio

IMPORT = (axio,)
