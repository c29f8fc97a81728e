"""Tenants of a share daemon are read by its API, and their weights set; what is at the socket is not believed."""

import asyncio
import os

import pytest
from share_api import WEB, daemon

from windtunnel.errors import UserError
from windtunnel.exchange import http_server
from windtunnel.parts.ui import tenants


def test_tenants_are_read(tmp_path):
    with daemon(tmp_path / "sock"):
        seen = asyncio.run(tenants.read(str(tmp_path / "sock")))
    (web,) = seen.tenants
    assert seen.trouble is None
    assert seen.pools.slice_ns == 100_000
    assert (web.name, web.weight, web.most, web.misses) == ("web", 128, 512, True)


@pytest.mark.parametrize(
    ("changes", "most", "misses"),
    [
        ({"max": 200}, 200, True),
        ({"max": 100}, 128, True),
        ({"threads": []}, 256, True),
        ({"told": None}, 512, False),
        ({"slo_p99_ns": None}, 512, False),
        ({"told": {"p99_ns": 40_000}}, 512, False),
    ],
)
def test_what_a_slider_offers_and_what_misses_its_objective(changes, most, misses):
    tenant = tenants.Tenant.model_validate(WEB | changes)
    assert (tenant.most, tenant.misses) == (most, misses)


def test_a_weight_is_set_or_refused_in_the_daemons_words(tmp_path):
    with daemon(tmp_path / "sock") as asked:
        asyncio.run(tenants.set_weight(str(tmp_path / "sock"), "web", 64))
        with pytest.raises(UserError, match="no room for 300") as refused:
            asyncio.run(tenants.set_weight(str(tmp_path / "sock"), "web", 300))
    assert refused.value.remedy == "256 or less"
    assert asked[0] == {"web": {"weight": 64}}


def test_another_version_is_trouble_in_words(tmp_path):
    with daemon(tmp_path / "sock", {"ls": "many"}):
        assert "another version" in asyncio.run(tenants.read(str(tmp_path / "sock"))).trouble


def test_a_daemon_that_has_gone_is_trouble_in_words(tmp_path):
    with http_server.unix_socket(tmp_path / "sock"):
        pass
    assert asyncio.run(tenants.read(str(tmp_path / "sock"))).trouble


@pytest.mark.parametrize("kind", ["none", "file", "link"])
def test_what_is_no_socket_of_ours_is_not_asked(tmp_path, kind):
    path = tmp_path / "sock"
    if kind == "file":
        path.write_text("")
    if kind == "link":
        os.symlink(tmp_path / "other", path)
    assert "not a socket of this user" in asyncio.run(tenants.read(str(path))).trouble
