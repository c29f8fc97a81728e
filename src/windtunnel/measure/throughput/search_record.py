"""search.json: the record of one search."""

from typing import Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from windtunnel.notebook import Shown

SEARCH_VERSION: Final = 3


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TrialRow(Part):
    """One trial, in the order in which they were run."""

    run: str = Field(description="its run directory")
    load: float = Field(description="messages per second to send")
    duration_s: float
    sent: int = Field(description="messages sent; unsent ones are not included")
    forwarded: int = Field(description="got a response in time")
    unsent: int = Field(description="messages that the client was too slow to send")
    loss_ratio: float | None = Field(description="share of all messages to send; null: excluded before any was sent")
    percentiles_ns: dict[str, float | None] = Field(
        default_factory=dict,
        description="goal -> its percentile in this trial, lost messages being later than any; null: too few messages, or too many lost",
    )
    excluded: str | None = Field(description="why it is excluded; null: it counts")


class LatencyGoal(Part):
    """A percentile of the latency from the intended send time that must not exceed a limit; a message without a response does."""

    percentile: float
    limit_ns: float
    ns: float | None = Field(
        description="the percentile at the lower bound, the median of its trials; at the upper bound if there is no lower one; null: too "
        "few messages, or too many lost"
    )
    low_ns: float | None = Field(description="of the 95% interval of that median; null: too few trials")
    high_ns: float | None = Field(description="null: too few trials, or too many messages lost in them")


class GoalRow(Part):
    """A goal, and what was found for it (RFC 9971, section 4.8)."""

    name: str
    loss_ratio: float
    exceed_ratio: float
    width: float
    initial_trial_duration_s: float
    final_trial_duration_s: float
    duration_sum_s: float
    latency: LatencyGoal | None = Field(None, description="null: loss alone decides")
    irregular: str | None = Field(description="why the result is irregular; null: it is regular")
    relevant_lower_bound: float | None = Field(description="messages per second")
    relevant_upper_bound: float | None
    conditional_throughput: float | None = Field(description="messages per second forwarded at the lower bound")
    limited_by_generator: bool = Field(description="the client limits the upper bound, not the data plane")


class LatencyRow(Part):
    """Latency at a part of the rate, from the intended send time; ns."""

    run: str
    share: float = Field(description="of the conditional throughput of the goal that loses most")
    rate: float = Field(description="messages per second")
    workload: str
    p50: int | None
    p90: int | None
    p99: int | None
    p999: int | None
    p99_from_send: int | None = Field(description="from the real send time")
    pacing_p99: int | None
    reasons: list[str] = Field(
        description="the reasons of an invalid run: values are missing, or rejected ones that were asked for"
    )


class BurstRow(Part):
    """Back-to-back frames (RFC 9004): the longest burst at the greatest rate of which nothing was lost."""

    rate: float = Field(description="messages per second within the burst")
    messages: float | None = Field(description="mean over the repeats; null: not found")
    repeats: list[int] = Field(description="longest burst without loss of each repeat, in messages")
    corrected_messages: float | None = Field(
        description="less what was forwarded while the burst arrived (section 6.4)"
    )
    most: int = Field(description="the longest burst that was tried")
    words: str


class SearchRecord(Shown, Part):
    """What search.json holds; written anew after every trial, so that a crash leaves what was found."""

    version: Literal[3] = SEARCH_VERSION
    title: str
    question: str | None
    started: AwareDatetime
    finished: AwareDatetime | None = None
    method: Literal["mlrsearch", "rfc2544"]
    scenario: dict[str, Any] = Field(description="every key as resolved, without a rate")
    host: dict[str, Any]
    versions: dict[str, str]
    closed_loop_per_s: float | None = Field(
        description="responses per second of the closed loop at the start of the search"
    )
    closed_loops_excluded: list[str] = Field(
        default_factory=list, description="why closed loops at the start were run again: the host affected them"
    )
    state: str | None = Field(
        None, description="host state that every trial that counts was in; null: not known on this host"
    )
    other_states: int = Field(0, description="trials that were excluded because the host was in another state")
    paused: int = Field(0, description="trials that a pause of the host may have decided, whether they failed or not")
    pauses_count: bool = Field(
        False,
        description="such trials count, because hardly any was without a pause or max_preempted is 100%: the rates are those of the data plane "
        "with this host's pauses",
    )
    min_load: float
    max_load: float
    stopped: str | None = Field(None, description="what ended the search before its time; null: it ran to its end")
    goals: list[GoalRow] = Field(default_factory=list)
    trials: list[TrialRow] = Field(default_factory=list)
    latency: list[LatencyRow] = Field(default_factory=list)
    burst: BurstRow | None = None
    included: list[str] = Field(
        default_factory=list,
        description="invalid runs that counted on request, and that would have been excluded without",
    )
