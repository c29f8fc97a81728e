"""What `windtunnel copies of` shows, to people and to programs."""

import json

import pytest
from program_samples import ended, measured, program, size, thread
from terminal_views import printed

from windtunnel.parts.copies.program_document import MOST_THREADS, as_json, program_document, verdict
from windtunnel.parts.copies.program_gain import gain_of

COPIES = program(thread(size(9, 100_000, 10.0, timed=1500, source_on_page=25_000), size(17, 5_000, 4_000.0, timed=600)))
MODEL = measured(1000.0, 0.05, engine="model", kind="modelled", device="dsa-spr", cpu=None)


def shown(copies=COPIES, engines=(MODEL,), assumed=()):
    return printed(program_document(copies, [gain_of(copies.sizes, each) for each in engines], assumed))


def test_the_verdict_has_the_share_with_its_interval():
    assert verdict(COPIES) == "105,000 copies of 337 MiB took 2.1% (2.1% to 2.1%) of the CPU time of 1.00 s"


def test_sizes_and_threads_have_their_rows():
    text = shown()
    assert "64.0 KiB" in text and "25%" in text and "worker" in text and "4,000" in text
    assert "2.1% (2.1% to 2.1%)" in text


def test_a_modelled_engine_is_called_so_with_its_assumptions():
    text = shown(assumed=["caller.burst = 40: taken so"])
    assert "modelled: the costs of dsa-spr" in text and "assumed: caller.burst = 40: taken so" in text
    assert "dsa-spr, modelled: a program that waits for each copy, as with Intel's DTO, gains from 64.0 KiB on" in text
    assert "(DTO_MIN_BYTES=65536)" in text


def test_what_is_not_seen_is_said():
    assert "not seen: copies that a compiler made inline" in shown()


def test_a_copier_that_brings_nothing_says_so():
    text = shown(engines=[measured(1e9, 1e9), measured(1e9, 1e9, engine="cpu_nt", cpu=None)])
    assert "dma: a program that works on while it copies is not shown to gain with it at any size" in text
    assert "cpu_nt: a loop of the CPU: the program is not shown to gain with it at any size" in text


def test_a_copier_that_cannot_be_compared_says_so():
    text = shown(program(thread(size(3, 1000, 10.0))))
    assert "no size from 256 B on was timed" in text and "no size  " not in text


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        (program(), "called none of memcpy, memmove and mempcpy"),
        (program(processes=0), "began without the library"),
        (program(thread(size(9, 10, 5.0)), how=ended(still_running=True)), "processes of it still run"),
        (program(thread(size(9, 10, 5.0)), how=ended(cpu_s=0.0)), "it ended too soon"),
        (program(thread(size(9, 10, 5.0, timed=0))), "too few copies were timed"),
    ],
)
def test_a_program_without_a_share_is_said_in_words(copies, words):
    assert words in verdict(copies) and words in shown(copies).replace("\n", " ")


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        (program(how=ended(returncode=7)), "/opt/server ended with 7"),
        (program(how=ended(returncode=-11)), "ended by signal 11"),
        (program(rows_missing=3), "one row together: 3"),
        (program(early=4), "in no other number: 4"),
        (COPIES, "page faults of the program: 9;"),
        (program(thread(size(9, 10, 5.0, interrupted=2, timed=2))), "interrupted, and are in no time: 2"),
    ],
)
def test_what_somebody_has_to_know_is_said(copies, words):
    assert words in shown(copies)


def test_an_end_that_was_asked_for_is_no_warning():
    assert "signal" not in shown(program(how=ended(returncode=-15, asked_to_end=True)))


def test_many_threads_are_few_rows():
    copies = program(*(thread(size(9, 10 - n % 2, 5.0), name=f"t{n}") for n in range(MOST_THREADS + 5)))
    text = shown(copies)
    assert f"t{MOST_THREADS - 1} " in text and f"t{MOST_THREADS} " not in text and "5 others" in text


def test_a_program_reads_the_same():
    values = json.loads(json.dumps(as_json(COPIES, [gain_of(COPIES.sizes, MODEL)], ["a"])))
    assert values["share"]["mean"] == pytest.approx(0.021)
    assert [(each["least_bytes"], each["copies"]) for each in values["sizes"]] == [(256, 100_000), (65536, 5_000)]
    [copier] = values["copiers"]
    assert (copier["kind"], copier["waiting"]["from_bytes"]) == ("modelled", 65536)
    assert copier["working"]["freed_share"] == pytest.approx(5000 * 3000 / 1e9)
    assert values["notes"][-1] == "assumed: a"
