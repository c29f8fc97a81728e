"""The page of a program's copies: its layout is that of copies/page.h, and it stays as long as it was made."""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from windtunnel.parts.copies import program_page
from windtunnel.parts.copies.program_page import Head, Own, Page, Size, Thread, Timed

HEADER = Path(__file__).parents[3] / "copies/page.h"
STRUCTS = {"page": Head, "thread": Thread, "own": Own, "size": Size, "timed": Timed}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_layout_is_that_of_the_header(tmp_path):
    fields = [(name, field[0]) for name, struct in STRUCTS.items() for field in struct._fields_]
    prints = "\n".join(f'printf("%zu\\n", offsetof(struct wt_copies_{s}, {f}));' for s, f in fields)
    (tmp_path / "layout.c").write_text(
        f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{ {prints}\n'
        'printf("%zu\\n", sizeof(struct wt_copies_page)); return 0; }\n'
    )
    subprocess.run(["cc", "-o", tmp_path / "layout", tmp_path / "layout.c"], check=True)
    offsets = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout.split()
    assert offsets == [str(getattr(STRUCTS[s], f).offset) for s, f in fields] + [str(program_page.BYTES)]


def test_constants_are_those_of_the_header():
    text = HEADER.read_text()
    numbers = {name: int(value) for name, value in re.findall(r"WT_COPIES_(\w+) = (\d+)", text)}
    names = ("THREADS", "SIZES", "BY_CPU_TIME", "GROUPS", "PROGRAM")
    assert numbers == {name: getattr(program_page, name) for name in names}
    assert f"#define WT_COPIES_ABI {program_page.ABI}u" in text
    assert f'#define WT_COPIES_VARIABLE "{program_page.VARIABLE}"' in text
    assert re.search(rf"WT_COPIES_MAGIC +{program_page.MAGIC:#x}ull", text)
    functions = re.search(r"enum wt_copies_function \{(.*?)WT_COPIES_FUNCTIONS", text)[1]
    assert tuple(re.findall(r"WT_COPIES_(\w+)", functions.lower().replace("wt_copies", "WT_COPIES"))) == (
        program_page.FUNCTIONS
    )


def test_a_new_page_has_no_row_and_cannot_be_cut_off():
    with Page() as page:
        head = page.head()
        assert (head.magic, head.abi, head.bytes, head.threads) == (
            program_page.MAGIC,
            program_page.ABI,
            program_page.BYTES,
            0,
        )
        assert page.rows() == 0 and page.ids() == []
        path = page.environment[program_page.VARIABLE]
        for length in (0, program_page.BYTES + 1):
            with pytest.raises(PermissionError):
                os.truncate(path, length)


def test_no_more_rows_are_read_than_the_page_has():
    with Page() as page:
        with open(page.environment[program_page.VARIABLE], "r+b", buffering=0) as file:
            file.write(bytes(Head(threads=0xFFFFFFFF)))
            os.pwrite(file.fileno(), bytes(Thread(process=3, thread=4)), ctypes.sizeof(Head))
        assert page.rows() == program_page.THREADS
        assert page.ids()[0] == (3, 4)
