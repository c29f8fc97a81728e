"""What a terminal shows during an observation."""

import io

from observed_samples import TSC_HZ, busy_windows
from rich.console import Console

from windtunnel.parts.attach.live_table import live_table


def test_a_terminal_shows_the_last_window():
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    first, last = busy_windows({32: 1.0}, burst=320, packet=40, count=2)
    with live_table(console, 10.0) as listener:
        listener(first, TSC_HZ)
        listener(last.model_copy(update={"excluded": "thread 4711 was preempted"}), TSC_HZ)
        drawn = console.file.getvalue()
    assert "1.0 of 10.0 s" in drawn
    assert "lcore 1" in drawn
    assert "excluded: thread 4711 was preempted" in drawn


def test_a_pipe_shows_nothing():
    console = Console(file=io.StringIO(), force_terminal=False)
    with live_table(console, 10.0) as listener:
        for window in busy_windows({32: 1.0}, burst=320, packet=40, count=2):
            listener(window, TSC_HZ)
    assert console.file.getvalue() == ""
