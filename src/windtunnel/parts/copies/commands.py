"""The commands about copies. Each imports what it needs when it runs."""

from windtunnel.parts.copies.copiers_command import copiers
from windtunnel.parts.copies.copies_command import copies

PREPARE = (copiers,)
HOST = (copies,)
