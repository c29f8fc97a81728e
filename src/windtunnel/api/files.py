"""Files and directories: read and written so that no other user and no crash can change what they hold."""

from windtunnel.engine import home, own_directory, own_lock
from windtunnel.engine.readable import readable
from windtunnel.engine.walked import others_may_replace, read_beginning, walk
from windtunnel.runs.directories import held, make_directory
from windtunnel.runs.files import LineFile, replace, temporary_of
from windtunnel.text_file import beginning, read_text
from windtunnel.tree import walk_whole

__all__ = [
    "LineFile",
    "beginning",
    "held",
    "home",
    "make_directory",
    "others_may_replace",
    "own_directory",
    "own_lock",
    "read_beginning",
    "read_text",
    "readable",
    "replace",
    "temporary_of",
    "walk",
    "walk_whole",
]
