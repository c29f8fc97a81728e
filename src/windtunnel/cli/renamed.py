"""Commands and options that have a new name: the old one is refused, and the new one named."""

from collections.abc import Sequence

from windtunnel.errors import UserError

COMMANDS = {
    ("query",): "study query",
    ("model", "check"): "model validate",
    ("share", "study"): "share reproduce",
}
OPTIONS = {
    ("model", "predict"): {"--foreign": "--allow-other-host"},
    ("share", "advise"): {"--foreign": "--allow-other-host"},
    ("compare",): {"--change": "--alternate"},
}
"""Command -> option as it was -> as it is."""


def check(words: Sequence[str]) -> None:
    """Raises UserError where the words of a command line begin with an old command, or hold an old option."""
    for old, new in COMMANDS.items():
        if tuple(words[: len(old)]) == old:
            raise UserError(
                f'"windtunnel {" ".join(old)}" is now "windtunnel {new}"', remedy=f"windtunnel {new} --help"
            )
    for command, options in OPTIONS.items():
        if tuple(words[: len(command)]) != command:
            continue
        for word in words[len(command) :]:
            if known := options.get(word.partition("=")[0]):
                raise UserError(
                    f"{word.partition('=')[0]} is now {known}", remedy=f"windtunnel {' '.join(command)} --help"
                )
