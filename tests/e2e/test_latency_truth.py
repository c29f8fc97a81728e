"""Latency as it is shown against the raw samples that the engine's test mode keeps."""

from collections import Counter
from math import ceil

import numpy
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
from real_runs import L_APP, messages, run_well, scenario

from windtunnel.engine.plan import RawLatency
from windtunnel.runs.histogram import HDR_BITS, HDR_HIGHEST_NS, highest_of_bucket, merge, percentile

PERCENTS = (50, 90, 99, 99.9)
LIMIT = 4_000_000
MOST = 1_000_000
"""Messages of a run: how many there are in its time depends on the host."""
CLIENTS = {"closed": {}, "poisson": {"rate": "60kpps", "arrivals": "poisson", "inflight": 8192}}


def keeping_raw(path):
    def change(spec):
        [plan] = spec.plans
        return [plan.model_copy(update={"raw_latency": RawLatency(path=str(path), limit=LIMIT)})]

    return change


def lowest_of_bucket(value: int) -> int:
    """Log-linear: above 2**bits each power of two has 2**(bits - 1) buckets."""
    shift = max(0, value.bit_length() - HDR_BITS)
    return value >> shift << shift


@pytest.fixture(scope="module", params=[(load, apps) for load in CLIENTS for apps in (1, 2)], ids=str)
def kept(request, tmp_path_factory):
    """A run without a warm-up, so that the samples are those of its windows, and the samples."""
    load, apps = request.param
    directory = tmp_path_factory.mktemp(load)
    data = scenario(L_APP | {"apps": apps}, client=CLIENTS[load], warmup="0s", messages=MOST, duration="400ms")
    run = run_well(directory, data, change=keeping_raw(directory / "raw"))
    return run, numpy.fromfile(directory / "raw", dtype="<u8")


def all_windows(run, of=lambda window: True):
    [windows] = run.windows.values()
    return merge(window.workloads[0].latency for window in windows if of(window))


def test_every_sample_is_in_its_bucket(kept):
    run, raw = kept
    assert len(raw) == messages(run).responses < LIMIT
    shown = all_windows(run)
    assert dict(shown.counts) == Counter(map(lowest_of_bucket, raw.tolist()))
    assert (shown.total, shown.min, shown.max) == (len(raw), raw.min(), raw.max())
    assert shown.sum == int(raw.sum())


@pytest.mark.parametrize("percent", PERCENTS)
def test_percentiles_equal_those_of_numpy(kept, percent):
    """Within the bucket, 3 digits; HdrHistogram rounds the rank to the nearest, inverted_cdf up: one sample apart at most."""
    run, raw = kept
    shown = percentile(all_windows(run), percent)
    exact = int(numpy.percentile(raw, percent, method="inverted_cdf"))
    before = int(numpy.sort(raw)[max(0, ceil(len(raw) * percent / 100) - 2)])
    assert shown in {min(highest_of_bucket(lowest_of_bucket(v), HDR_BITS), raw.max()) for v in (before, exact)}
    assert abs(shown - exact) <= exact / 1000 or lowest_of_bucket(before) != lowest_of_bucket(exact)


def test_hdrhistogram_reads_the_log_and_agrees(kept):
    run, _ = kept
    log = HistogramLogReader(str(run.path / "latency.hlog"), HdrHistogram(1, HDR_HIGHEST_NS, 3))
    together = HdrHistogram(1, HDR_HIGHEST_NS, 3)
    intervals = 0
    while (histogram := log.get_next_interval_histogram()) is not None:
        together.add(histogram)
        intervals += 1
    measured = all_windows(run, lambda window: window.phase == "measure")
    assert intervals == sum(window.phase == "measure" for windows in run.windows.values() for window in windows)
    assert together.get_total_count() == measured.total
    for percent in PERCENTS:
        logged = together.get_value_at_percentile(percent)
        assert lowest_of_bucket(logged) == lowest_of_bucket(percentile(measured, percent))
