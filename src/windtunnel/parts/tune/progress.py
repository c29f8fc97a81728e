"""Progress of a tuning: a line for each trial, at once."""

from typing import TYPE_CHECKING

from windtunnel.parts.tune.sentences import outcome_words

if TYPE_CHECKING:
    from rich.console import Console

    from windtunnel.parts.tune.trial import Candidate
    from windtunnel.parts.tune.tuner import Prepared
    from windtunnel.parts.tune.tuning_record import TrialRecord


class Lines:
    """One line where a trial begins, one where it has ended."""

    def __init__(self, prepared: "Prepared", console: "Console"):
        self._console, self._goal = console, prepared.goal
        self._before = 0

    def begins(self, number: int, candidate: "Candidate", counted: int, budget: int) -> None:
        if self._before:
            self._say(f"{self._before} trials were finished before")
            self._before = 0
        place = f"{counted + 1} of {budget}" if number else "the file"
        self._say(f"trial {number}  {place}  {candidate.text}: {candidate.why}")

    def trial_ended(self, trial: "TrialRecord", ran_now: bool) -> None:
        if not ran_now:
            self._before += 1
            return
        self._say(f"trial {trial.number}  {outcome_words(trial)}  {trial.seconds:.0f} s")

    def final_begins(self, number: int) -> None:
        self._say(f"trial {number}, the winner, is measured again against the file")

    def _say(self, text: str) -> None:
        self._console.out(text)
        self._console.file.flush()
