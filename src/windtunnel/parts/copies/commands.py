"""The commands about copies. Each imports what it needs when it runs."""

from windtunnel.parts.copies.copiers_command import copiers
from windtunnel.parts.copies.copies_command import copies
from windtunnel.parts.copies.of_command import of

PREPARE = (copiers,)
HOST = (copies,)
MODEL = (("copies", "See what a program copies, and if an engine would pay.", (of,)),)
