"""The host on which a model may be used: the one that it was measured on."""

from pathlib import Path
from typing import Any

from windtunnel.errors import UserError
from windtunnel.host.ladder import Ladder
from windtunnel.parts.models.model_record import ModelRecord

FACTS = ("hostname", "architecture", "cpus.model", "cpus.online")
"""Facts that identify a machine."""


def refuse_other_host(model: ModelRecord, this_host: dict[str, Any], name: str) -> None:
    """Raises UserError if the model was measured on another host than this one."""
    if differing := differences(model.host, this_host):
        raise UserError(
            f"{name}: measured on another host: {'; '.join(differing)}",
            remedy="fit a model on this host, or accept this one with --allow-other-host",
        )


def refuse_ladder(ladder: Ladder, host: dict[str, Any], file: Path) -> None:
    """Raises UserError if the ladder is of another host than the study."""
    if differing := differences(ladder.host, host):
        raise UserError(
            f"{file}: the ladder and the study belong to different hosts: {'; '.join(differing)}",
            remedy="use a ladder of the study's host",
        )


def differences(then: dict[str, Any], this_host: dict[str, Any]) -> list[str]:
    """The facts in which two hosts differ, each with both values."""
    values = [(fact, _at(then, fact), _at(this_host, fact)) for fact in FACTS]
    return [f"{fact} {was} there, {now} here" for fact, was, now in values if was != now]


def _at(host: dict[str, Any], fact: str) -> Any:
    value: Any = host
    for key in fact.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
