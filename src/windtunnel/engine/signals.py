"""The signal that ended a process, by name."""

import signal


def signal_name(exit_code: int | None) -> str | None:
    """The name of signal N of an exit code -N, as `subprocess` has it; None if no signal ended the process."""
    if exit_code is None or exit_code >= 0:
        return None
    try:
        return signal.Signals(-exit_code).name
    except ValueError:  # real-time signals have numbers only
        return f"signal {-exit_code}"
