"""Texts of other tools as editors save them: what is read does not depend on the encoding, on marks and on line ends."""

from pathlib import Path

import pytest
from from_the_world import EACH, FILES
from part_samples import part_samples

from windtunnel.exchange import testpmd
from windtunnel.exchange.recorded import is_recorded, read_recorded
from windtunnel.exchange.source import read

DATA = Path(__file__).parents[2] / "support" / "data"
SAVED = [("utf-8-sig", "\n"), ("utf-8", "\r\n"), ("utf-16", "\r\n")]


def bursts_of(file):
    return testpmd.parse(read(file).text)


def readings_of(file):
    return read_recorded(file).readings


TEXTS = [
    (DATA / "testpmd-macswap.txt", bursts_of),
    (DATA / "testpmd-queues.txt", bursts_of),
    *(
        (FILES / name, readings_of)
        for name in EACH
        if name.endswith((".txt", ".csv")) and is_recorded((FILES / name).read_text().split("\n"))
    ),
]
EVERY = [*TEXTS, *(each for texts in part_samples("SAVED_TEXTS") for each in texts)]


@pytest.mark.parametrize(("encoding", "end"), SAVED)
@pytest.mark.parametrize(("file", "reader"), EVERY, ids=[file.name for file, _ in EVERY])
def test_what_is_read_is_the_same(tmp_path, file, reader, encoding, end):
    (saved := tmp_path / file.name).write_bytes(file.read_text().replace("\n", end).encode(encoding))
    assert reader(saved) == reader(file)


def test_each_file_of_users_is_one_of_a_kind():
    assert len(EACH) == 21 and len(TEXTS) == 2 + 12
