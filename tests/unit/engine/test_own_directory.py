"""Directories of one owner: what others could have written is not read, and said."""

import ast
import os
from pathlib import Path

import pytest
from other_users import give_by_access_list

from windtunnel.engine import leftovers, own_directory
from windtunnel.errors import UserError

CHECKOUT = Path(__file__).parents[3]
OTHER = 54321
MOST = 1 << 10
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def mode(path):
    return path.stat().st_mode & 0o777


def refused(path, words):
    with pytest.raises(UserError, match=words), own_directory.opened(path):
        pytest.fail("it was opened")


def test_what_is_made_is_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        own_directory.make(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o700, 0o700)
    own_directory.make(tmp_path / "a" / "b")


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o1777])
def test_a_directory_that_others_may_write_is_refused(tmp_path, bits):
    path = tmp_path / "a"
    path.mkdir()
    path.chmod(bits)
    refused(path, "other users may write it")
    with pytest.raises(UserError, match="other users may write it"):
        own_directory.make(path)
    path.chmod(0o755)
    own_directory.make(path)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    refused(tmp_path / "link", "a link to one")
    (tmp_path / "mine" / "file").write_text("x")
    (tmp_path / "mine" / "other").symlink_to(tmp_path / "mine" / "file")
    with pytest.raises(UserError, match="a link"):
        own_directory.read(tmp_path / "mine" / "other", MOST)
    assert own_directory.read(tmp_path / "mine" / "file", MOST) == b"x"


def test_what_is_no_directory_or_not_there_is_said(tmp_path):
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "not a directory")
    refused(tmp_path / "nothing", "No such file")
    with pytest.raises(UserError, match="not a directory"):
        own_directory.make(tmp_path / "file")


@needs_root
def test_what_belongs_to_another_user_is_refused(tmp_path):
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, OTHER, OTHER)
    refused(theirs, f"of user {OTHER}")
    mine.mkdir(mode=0o700)
    (mine / "file").write_text("x")
    os.chown(mine / "file", OTHER, OTHER)
    with pytest.raises(UserError, match=f"of user {OTHER}"):
        own_directory.read(mine / "file", MOST)


def test_a_file_that_waits_is_large_or_may_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o700)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UserError, match="not a file"):
        own_directory.read(tmp_path / "fifo", MOST)
    large = tmp_path / "large"
    large.write_bytes(b"x" * (2 << 20))
    with pytest.raises(UserError, match="larger than 1 MiB"):
        own_directory.read(large, 1 << 20)
    large.chmod(0o666)
    with pytest.raises(UserError, match="other users may write it"):
        own_directory.read(large, 4 << 20)
    with pytest.raises(FileNotFoundError):
        own_directory.read(tmp_path / "nothing", MOST)


@needs_root
def test_whoever_an_access_list_names_may_put_something_there(tmp_path):
    """The group's bits of its mode are the most that the list gives anybody."""
    place = tmp_path / "place"
    place.mkdir(mode=0o755)
    assert own_directory.may_become_own(place)
    give_by_access_list(place, OTHER)
    assert not own_directory.may_become_own(place)


@pytest.fixture
def someone(monkeypatch, tmp_path):
    """A user who is not root and has no runtime directory; and what is theirs below /tmp."""
    for name in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: OTHER)
    monkeypatch.setattr(own_directory, "in_tmp", lambda: tmp_path / "own")
    return tmp_path / "own"


def test_eal_of_a_user_without_a_runtime_directory_has_one_of_their_own(someone):
    """In /tmp itself it would take the directory dpdk of whoever came first."""
    assert own_directory.runtime_directory() == own_directory.of_runtime() == someone
    assert own_directory.for_eal()["RUNTIME_DIRECTORY"] == str(someone)
    assert (mode(someone), mode(someone / "dpdk")) == (0o700, 0o700)


@pytest.mark.parametrize("place", ["own", "own/dpdk"])
def test_eal_starts_in_no_directory_that_others_may_write(someone, place):
    theirs = someone.parent / place
    theirs.mkdir(parents=True)
    theirs.chmod(0o777)
    with pytest.raises(UserError, match="other users may write it"):
        own_directory.for_eal()


def test_eal_starts_in_no_runtime_directory_in_which_somebody_was_first(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    tmp_path.chmod(0o1777)
    (tmp_path / "dpdk").symlink_to(tmp_path)
    with pytest.raises(UserError, match="a link to one"):
        own_directory.for_eal()
    (tmp_path / "dpdk").unlink()
    assert own_directory.for_eal()["RUNTIME_DIRECTORY"] == str(tmp_path) and mode(tmp_path / "dpdk") == 0o700


@pytest.fixture
def ways(tmp_path) -> dict[str, Path]:
    """Directories of ours, by who could put another one in their place."""
    for name in ("theirs", "all", "tmp", "ours"):
        (tmp_path / name / "mine").mkdir(parents=True)
    (tmp_path / "all").chmod(0o777)
    (tmp_path / "tmp").chmod(0o1777)
    links = {"link of theirs": "ours", "leads into theirs": "theirs/mine", "circle": "circle", "link": "ours"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    if os.geteuid() == 0:
        os.chown(tmp_path / "theirs", OTHER, OTHER)
        os.chown(tmp_path / "link of theirs", OTHER, OTHER, follow_symlinks=False)
    found = {
        name: tmp_path / name / "mine" for name in ("theirs", "all", "tmp", "ours", "link of theirs", "circle", "link")
    }
    return found | {"leads into theirs": tmp_path / "leads into theirs", "none": tmp_path / "ours" / "none" / "mine"}


@pytest.mark.parametrize(
    ("way", "own"),
    [
        *(pytest.param(way, False, marks=needs_root) for way in ("theirs", "link of theirs", "leads into theirs")),
        *((way, False) for way in ("all", "circle")),
        *((way, True) for way in ("tmp", "ours", "link", "none")),
    ],
)
def test_nobody_else_may_put_a_directory_in_the_place_of_ours(ways, way, own):
    assert own_directory.may_become_own(ways[way]) is own
    if own:
        own_directory.make(ways[way] / "new")
        with own_directory.opened(ways[way] / "new") as descriptor:
            assert os.fstat(descriptor) == (ways[way] / "new").stat()
    elif way != "circle":
        with pytest.raises(UserError, match="other users may put something else there"):
            own_directory.make(ways[way] / "new")
        assert not (ways[way] / "new").exists()
        (ways[way] / "mine").mkdir(mode=0o700)
        refused(ways[way] / "mine", "other users may put something else there")


@needs_root
def test_nothing_is_made_through_what_was_missing_a_moment_before(tmp_path, monkeypatch):
    """Its owner takes it away, and puts it back with a link in it."""
    for name in ("theirs", "outside"):
        (tmp_path / name).mkdir(mode=0o755)
    (tmp_path / "theirs" / "link").symlink_to(tmp_path / "outside")
    os.chown(tmp_path / "theirs", OTHER, OTHER)
    way = [tmp_path / "theirs" / "link" / "of root", tmp_path / "theirs" / "link", tmp_path / "theirs"]
    monkeypatch.setattr(own_directory, "_missing", lambda path: way)
    with pytest.raises(UserError, match="other users may put something else there"):
        own_directory.make(tmp_path / "theirs" / "link" / "of root")
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize(
    ("way", "own"), [("all", False), ("tmp", True), ("ours", True), ("link", True), ("none", False)]
)
def test_what_is_not_there_is_nobodys_file(ways, way, own):
    """Who has looked a moment before, or looks again, may meet a file of anybody, whose owner takes it away and puts it back."""
    if way != "none":
        ways[way].touch()
    assert own_directory.is_own(ways[way]) is own
    assert own_directory.file_is_as_own(ways[way], ways["ours"].parent) is own


@needs_root
@pytest.mark.parametrize("way", ["theirs", "none"])
def test_a_runtime_directory_of_another_user_is_not_taken(ways, someone, monkeypatch, way):
    """`su` keeps XDG_RUNTIME_DIR of who called it, who could swap what EAL and memif make there, and may take it away for a moment."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(ways[way]))
    assert own_directory.runtime_directory() == leftovers.socket_directory() == someone and mode(someone) == 0o700
    assert own_directory.for_eal()["RUNTIME_DIRECTORY"] == str(someone)
    assert not list(ways["theirs"].iterdir())
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(ways["theirs"]))
    with pytest.raises(UserError, match="theirs/mine: other users may put something else there"):
        own_directory.for_eal()
    for variable in ("XDG_RUNTIME_DIR", "RUNTIME_DIRECTORY"):
        monkeypatch.setenv(variable, str(ways["ours"]))
    assert own_directory.runtime_directory() == leftovers.socket_directory() == ways["ours"]


@needs_root
def test_no_temporary_directory_is_made_in_the_tmpdir_of_another_user(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert own_directory.for_temporary() == tmp_path
    os.chown(tmp_path, OTHER, OTHER)
    assert own_directory.for_temporary() == Path("/tmp")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    assert own_directory.for_temporary() == Path("/tmp")
    monkeypatch.delenv("TMPDIR")
    assert own_directory.for_temporary() == Path("/tmp")


@pytest.mark.parametrize("source", ["src/windtunnel", "sharing/src/windtunnel_sharing"])
def test_each_temporary_file_says_where_it_is_made(source):
    """Without `dir` it is made in TMPDIR, whoever owns that."""
    calls = [
        (file, call)
        for file in (CHECKOUT / source).rglob("*.py")
        if "tempfile" in (text := file.read_text())
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("tempfile.")
    ]
    assert calls or "sharing" in source
    assert not [f"{file}:{call.lineno}" for file, call in calls if "dir" not in {word.arg for word in call.keywords}]


@needs_root
@pytest.mark.parametrize(
    "look",
    [
        own_directory.is_own,
        own_directory.may_become_own,
        own_directory.is_missing,
        lambda path: pytest.raises(UserError, own_directory.make, path),
        lambda path: pytest.raises(UserError, own_directory.opened(path).__enter__),
        lambda path: own_directory.file_is_as_own(path, Path("/bin/true")),
    ],
)
def test_nothing_is_looked_up_in_a_directory_of_another_user(tmp_path, monkeypatch, look):
    """They may hold its lock, and whoever looks there waits in the kernel."""
    (tmp_path / "theirs" / "mine" / "below").mkdir(parents=True)
    os.chown(tmp_path / "theirs", OTHER, OTHER)
    looked_up = []
    open_of_os = os.open
    monkeypatch.setattr(
        os, "open", lambda name, *how, **where: looked_up.append(name) or open_of_os(name, *how, **where)
    )
    look(tmp_path / "theirs" / "mine" / "below")
    assert "theirs" in looked_up and "mine" not in looked_up
