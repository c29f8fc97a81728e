"""Which studies and tunings this user began: beside study.json, or the record of a tuning, lies its seal, which is made with a key that
only this user reads.

A study's record names files that are run as whoever continues it, and both are continued from what they have found so far. A directory that
somebody sent has no seal of the reader's key, and a record that was changed has another one.
"""

import hmac
import os
import secrets
from pathlib import Path

from windtunnel.engine import home
from windtunnel.errors import UserError
from windtunnel.measure.study import record
from windtunnel.text_file import MOST_RECORD_BYTES, read_regular

NAME = ".seal"
KEY = "key"
KEY_BYTES = 32
_OTHERS = 0o077


class BegunElsewhere(UserError):
    """A study or tuning that this user did not begin is to continue: the user has to read it first."""


def seal_of(text: str) -> str | None:
    """The seal of a record with this text, and the key for it if there is none yet. None: no key can be kept here, so that
    it is taken for another user's when it is continued."""
    try:
        home.make(home.state_directory())
        _make_key(home.state_directory() / KEY)
        return _digest(_key(), text.encode())
    except (UserError, OSError):
        return None


def is_own(directory: Path, name: str = record.NAME) -> bool:
    """Whether this user began what is in a directory, and its record, of this name, is as it was then."""
    try:
        return is_of(directory, read_regular(directory / name, MOST_RECORD_BYTES))
    except (UserError, OSError):
        return False


def is_of(directory: Path, content: bytes, name: str = NAME) -> bool:
    """Whether the seal of this name in a directory is of these bytes of its record: a caller that uses them asks about what it read, because the
    file may have changed since."""
    try:
        seal = read_regular(directory / name, 256)
        expected = _digest(_key(), content)
    except (UserError, OSError):
        return False
    return hmac.compare_digest(seal, expected.encode())


def _digest(key: bytes, content: bytes) -> str:
    return hmac.digest(key, content, "sha256").hex()


def _key() -> bytes:
    """Raises UserError or OSError if there is none that is this user's alone."""
    file = home.state_directory() / KEY
    key = home.read(file, KEY_BYTES)
    if len(key) != KEY_BYTES or file.stat().st_mode & _OTHERS:
        raise UserError(f"{file}: not a key, or other users may read it")
    return key


def _make_key(file: Path) -> None:
    """Makes the key in one step, so that nobody reads half of it; an existing one stays. Raises OSError."""
    if file.exists():
        return
    part = file.with_name(f".{KEY}.{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
        os.link(part, file)
    except FileExistsError:  # another study began at the same moment
        pass
    finally:
        part.unlink()
