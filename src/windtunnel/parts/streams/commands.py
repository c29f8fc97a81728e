"""The command `windtunnel import epping`. It imports what it needs when it runs."""

from windtunnel.parts.streams.import_command import epping

IMPORT = (epping,)
