"""The state file: what is written is read again, and nothing else is."""

import json
import os
from dataclasses import asdict
from types import SimpleNamespace

import pytest
from sharing_tools import needs_rights

from windtunnel.errors import UserError
from windtunnel_sharing import journal, threads
from windtunnel_sharing.daemon import state
from windtunnel_sharing.daemon.keys import TenantKeys
from windtunnel_sharing.daemon.roster import Tenant, Wish

WISH = Wish("ls", 100, 2, 512, 64, 10**6, parked=True)
KEYS = TenantKeys(name="a", pid=os.getpid(), weight=7)


def kept(path, **changes):
    """The state of a tenant of the API, with one of its wishes changed."""
    me = threads.started(os.getpid())
    tenant = Tenant("a", 1, KEYS, WISH, added=True, found=SimpleNamespace(pid=os.getpid()), processes={os.getpid(): me})
    state.write(path, SimpleNamespace(tenants={"a": tenant}))
    text = json.loads(path.read_text())
    text["tenants"][0]["wish"] |= changes
    path.write_text(json.dumps(text))
    return state.read(path)


def test_what_was_wanted_is_read_again(tmp_path):
    assert state.read(tmp_path / "state.json") == state.State()
    (tenant,) = kept(tmp_path / "state.json").tenants
    assert (tenant.wish, tenant.first) == (WISH, Wish("ls", 7))
    assert json.loads((tmp_path / "state.json").read_text())["tenants"][0]["wish"] == asdict(WISH)
    assert tenant.keys() == TenantKeys(name="a", pid=os.getpid())
    tenant.added.started -= 1
    assert tenant.keys() is None


@pytest.mark.parametrize(
    "changes",
    [
        {"weight": 0},
        {"weight": "64"},
        {"weight": None},
        {"pool": "no"},
        {"cap": 0},
        {"slo_ns": 0},
        {"slo_ns": 10**400},
        {"more": 1},
    ],
)
def test_a_wish_that_cannot_be_is_refused(tmp_path, changes):
    with pytest.raises(
        UserError, match=rf"state.json: not a state of the daemon: tenants\.0\.wish\.{next(iter(changes))}"
    ):
        kept(tmp_path / "state.json", **changes)


@pytest.mark.parametrize(
    "changes",
    [
        *({"pid": pid} for pid in (0, -1, 1 << 22, 10**30)),
        *({"started": started} for started in (-1, 1 << 70)),
        *({"threads": threads} for threads in ("*" * 65, "\0[")),
    ],
)
def test_a_process_that_cannot_be_is_refused(tmp_path, changes):
    """In words: the start ended with a traceback by what the tenant's keys refuse."""
    kept(tmp_path / "state.json")
    text = json.loads((tmp_path / "state.json").read_text())
    text["tenants"][0]["added"] |= changes
    (tmp_path / "state.json").write_text(json.dumps(text))
    with pytest.raises(
        UserError, match=rf"state.json: not a state of the daemon: tenants\.0\.added\.{next(iter(changes))}"
    ):
        state.read(tmp_path / "state.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a state"),
        ('{"schema": 2, "tenants": []}', "schema 2"),
        ('{"tenants": [{"name": 3}]}', "tenants.0.name"),
        ('{"tenants": [{"name": "12"}]}', "would be the number of a tenant"),
    ],
)
def test_a_state_that_is_not_ours_is_refused(tmp_path, text, words):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(UserError, match=words):
        state.read(tmp_path / "state.json")


def test_numbers_of_another_boot_name_nobody():
    named = state.KeptNumber(pid=7, started=5)
    tenant = state.KeptTenant(name="a", first=WISH, wish=WISH, added=None, named=named)
    for boot, started in ((journal.boot(), 5), ("another", None), (None, None)):
        assert state.State(boot=boot, tenants=[tenant]).named_by(TenantKeys(name="a", pid=7)) == started


def test_a_state_that_is_no_file_is_refused_without_a_wait(tmp_path):
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(UserError, match="not a file"):
        state.read(tmp_path / "state.json")


@pytest.mark.parametrize("theirs", ["a link", "other users may write it"])
def test_a_state_that_others_may_have_written_is_not_believed(tmp_path, theirs):
    """The daemon would change processes of theirs, and with its own rights."""
    path, own = tmp_path / "state.json", tmp_path / "own.json"
    kept(own)
    path.symlink_to(own) if theirs == "a link" else own.rename(path).chmod(0o666)
    with pytest.raises(UserError, match=theirs) as refused:
        state.read(path)
    assert f"move {path} away" in refused.value.remedy


@needs_rights
def test_a_state_of_another_user_is_not_believed(tmp_path):
    kept(tmp_path / "state.json")
    os.chown(tmp_path / "state.json", 1, 1)
    with pytest.raises(UserError, match="of user 1, and this is user 0"):
        state.read(tmp_path / "state.json")


def test_only_its_owner_may_read_it(tmp_path):
    kept(tmp_path / "state.json")
    assert (tmp_path / "state.json").stat().st_mode & 0o777 == 0o600
