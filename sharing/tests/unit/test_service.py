"""The unit of the daemon: systemd takes it as it is, and lets it do little more than what it needs."""

import configparser
import shutil
import subprocess

import pytest

from windtunnel.schemas.generate import CHECKOUT
from windtunnel_sharing.daemon import rights

UNIT = CHECKOUT / "sharing" / "windtunnel-share.service"


def unit() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT.read_text())
    return parser["Service"]


def test_it_may_do_what_the_daemon_keeps():
    assert set(rights.KEPT) < set(unit()["CapabilityBoundingSet"].split())


def test_it_may_ask_whose_a_connection_is():
    """Else all of this host would share one bound, the owner too."""
    assert "AF_NETLINK" in unit()["RestrictAddressFamilies"].split()


def test_it_runs_what_the_how_to_installs():
    program, *words = unit()["ExecStart"].split()
    said = (CHECKOUT / "docs" / "how-to" / "share-cores.md").read_text()
    assert f"python3 -m venv {program.removesuffix('/bin/windtunnel')}" in said
    assert words == ["share", "serve", "/etc/windtunnel/share.toml"] and words[-1] in said


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_takes_it_and_finds_it_little_exposed(tmp_path):
    file = tmp_path / UNIT.name
    file.write_text(UNIT.read_text().replace(unit()["ExecStart"].split()[0], "/bin/true"))  # it is not installed here
    for words in (["verify"], ["security", "--offline=yes", "--threshold=35", "--no-pager"]):
        done = subprocess.run(["systemd-analyze", *words, file], check=False, capture_output=True, text=True)
        assert done.returncode == 0 and "Unknown" not in done.stderr + done.stdout, done.stderr + done.stdout
