"""Files and directories: read and written so that no other user and no crash can change what they hold."""

from typing import TYPE_CHECKING

from windtunnel.api.lazy import loader_of

if TYPE_CHECKING:
    from windtunnel.engine import home as home
    from windtunnel.engine import own_directory as own_directory
    from windtunnel.engine import own_lock as own_lock
    from windtunnel.engine.readable import readable as readable
    from windtunnel.engine.walked import others_may_replace as others_may_replace
    from windtunnel.engine.walked import read_beginning as read_beginning
    from windtunnel.engine.walked import walk as walk
    from windtunnel.runs.directories import held as held
    from windtunnel.runs.directories import make_directory as make_directory
    from windtunnel.runs.files import LineFile as LineFile
    from windtunnel.runs.files import replace as replace
    from windtunnel.runs.files import temporary_of as temporary_of
    from windtunnel.text_file import beginning as beginning
    from windtunnel.text_file import read_text as read_text
    from windtunnel.tree import walk_whole as walk_whole

__getattr__ = loader_of(__name__)
