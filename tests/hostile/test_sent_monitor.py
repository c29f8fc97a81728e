"""A run that somebody sent, with the lines and the texts of a monitor: no command is kept waiting by them, and none ends with a fault."""

import json
import os
from pathlib import Path

import pytest
from command_line import in_process
from comparing import made
from part_samples import part_samples

from windtunnel.errors import UserError
from windtunnel.exchange.recorded.snapshots import head_of
from windtunnel.index.untrusted import check_files
from windtunnel.runs.monitor import FILE, Kept

DIGITS = "9" * 5000
"""More than Python makes a number of."""
READS = ["show sent", "show sent --html", *(f"{command} sent" for command in part_samples("READING_COMMAND"))]


def proc_stat(*rows: str) -> str:
    return "".join(head_of("/proc/stat", second) + row + "\n" for second, row in enumerate(rows))


def sent(directory: Path, names: list[str], text: str = "", size: int = 0) -> Path:
    """A run whose monitor has kept these texts. `size`: of each, most of it a hole."""
    run = made(directory / "sent")
    lines = [
        Kept(metric="cpus", tool="x", file=name, command=[], begins_s=0, seconds=1, exit_code=None, error="")
        for name in names
    ]
    (run / FILE).write_text("".join(line.model_dump_json() + "\n" for line in lines))
    for name in names:
        (run / name).write_text(text)
        os.truncate(run / name, max(size, len(text)))
    return run


@pytest.mark.parametrize("words", READS)
@pytest.mark.parametrize(
    ("names", "size", "refusal"),
    [
        (["monitor-a", "monitor-b", "monitor-a"], 0, f"{FILE}:3: monitor-a is kept twice"),
        (["monitor-a", "monitor-b", "monitor-c"], 60 << 20, f"{FILE}:3: texts of more than 128 MiB"),
    ],
)
def test_texts_are_read_once_and_have_a_bound_together(tmp_path, words, names, size, refusal):
    """A line of a hundred bytes has a command read 16 MiB, and there may be thousands of lines."""
    sent(tmp_path, names, size=size)
    done = in_process(*words.split(), cwd=tmp_path)
    assert done.returncode == 2 and refusal in done.stderr, done


def test_a_page_reads_fewer(tmp_path):
    run = sent(tmp_path, ["monitor-a", "monitor-b"], size=9 << 20)
    with pytest.raises(UserError, match="monitor-.*: larger than 16 MiB together"):
        check_files(run)
    os.truncate(run / "monitor-b", 0)
    check_files(run)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (proc_stat("cpu0" + " 1" * 8, f"cpu0{' 1' * 7} {DIGITS}"), "has not 8 times"),
        (proc_stat(f"cpu{DIGITS}{' 1' * 8}", f"cpu{DIGITS}{' 2' * 8}"), "monitor-a"),
    ],
)
def test_a_number_of_thousands_of_digits_is_none(tmp_path, text, shown):
    sent(tmp_path, ["monitor-a"], text)
    done = in_process("show", "sent", cwd=tmp_path)
    assert done.returncode == 0 and shown in done.stdout, done
    [document] = json.loads(in_process("show", "sent", "--json", cwd=tmp_path).stdout)
    assert document["title"]
