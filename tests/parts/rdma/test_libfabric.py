"""libfabric is opened by what needs it alone: drivers that are linked into it measure clocks for a fifth of a second as they are loaded."""

import os
import subprocess
from pathlib import Path

import pytest

from windtunnel.engine.find import find_engine
from windtunnel.parts.rdma.query import rdma_offers

pytestmark = pytest.mark.slow


CALLS = ("fi_getinfo", "fi_dupinfo", "fi_freeinfo", "fi_fabric", "fi_strerror")


@pytest.fixture(scope="module", autouse=True)
def built_with_it():
    if rdma_offers(find_engine()) is None:
        pytest.skip("built without libfabric")


def opened_files(option: str) -> str:
    environment = os.environ | {"LD_DEBUG": "files"}
    return subprocess.run([find_engine(), option], env=environment, capture_output=True, text=True, check=True).stderr


def test_no_engine_opens_it_before_it_is_asked_for_rdma():
    assert "libfabric" not in opened_files("--version")
    assert "libfabric" in opened_files("--rdma")


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        (None, "file too short"),
        ("unsigned fi_version(void) { return 9 << 16; }", "libfabric.so.1 has no fi_getinfo"),
        (
            "".join(f"void {call}(void) {{}}" for call in CALLS) + "unsigned fi_version(void) { return 1 << 16; }",
            "libfabric.so.1 is 1.0, this engine was built with 1.",
        ),
    ],
    ids=["empty", "another library", "an older one"],
)
def test_one_that_does_not_do_is_refused_with_a_remedy(tmp_path: Path, source: str | None, refusal: str):
    library = tmp_path / "libfabric.so.1"
    library.touch()
    if source is not None:
        subprocess.run(["cc", "-shared", "-x", "c", "-o", library, "-"], input=source, text=True, check=True)
    done = subprocess.run(
        [find_engine(), "--rdma"],
        env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "rdma wire: " in done.stderr and refusal in done.stderr
    assert "install" in done.stderr
