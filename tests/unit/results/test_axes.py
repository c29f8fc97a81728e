"""Axes and labels of plots: what has no place on a logarithmic axis, labels that would lie on one another, lines beyond the plot."""

from types import SimpleNamespace as Made

import pytest
from planted_studies import a_ladder

from windtunnel.host.caches import Cache
from windtunnel.results.charts import search
from windtunnel.results.charts.ladder import latency_over_size
from windtunnel.results.charts.layout import duration_ticks, label_text, log_ticks, ticks_at

CACHES = [Cache(level=1, bytes=32 << 10), Cache(level=2, bytes=2 << 20), Cache(level=3, bytes=24 << 20)]


def test_logarithmic_ticks_are_round_and_few():
    assert log_ticks([1, 3_000_000], "{:g}".format)["tickvals"] == [10.0**power for power in range(7)]
    assert log_ticks([1.2, 95.0], "{:g}".format)["ticktext"] == ["1", "2", "5", "10", "20", "50", "100"]
    assert log_ticks([0.02, 0.5], "{:g}".format)["ticktext"] == ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]
    assert duration_ticks([0, 90_000])["ticktext"] == ["1 ns", "10 ns", "100 ns", "1.00 µs", "10.0 µs", "100 µs"]


@pytest.mark.parametrize(
    ("values", "log", "kept"),
    [
        ([1, 10, 100], True, [1, 10, 100]),
        ([32, 33, 34, 64, 512, 520, 4096], True, [32, 64, 512, 4096]),
        ([0, 1, 50, 100], False, [0, 50, 100]),
        ([7], True, [7]),
    ],
)
def test_labels_keep_off_one_another(values, log, kept):
    ticks = ticks_at(values, [str(value) for value in values], log)
    assert ticks["tickvals"] == kept and ticks["ticktext"] == [str(value) for value in kept]


def searched(*trials: tuple[float, float | None]) -> Made:
    made = [Made(load=load, loss_ratio=loss, excluded=None, run="r", duration_s=1.0) for load, loss in trials]
    return Made(trials=made, goals=[Made(name="NDR", relevant_lower_bound=5e6)])


@pytest.mark.parametrize("least", [3e-3, 2e-7])
def test_no_loss_is_drawn_at_zero_below_the_least_loss(least):
    plot = search.trials(searched((4e6, 0.0), (6e6, least), (8e6, 0.5)))
    (zero, *losses), axis = plot["data"][0]["y"], plot["layout"]["yaxis"]
    assert losses == [least, 0.5] and zero <= least / 10
    assert dict(zip(axis["tickvals"], axis["ticktext"], strict=True))[zero] == "0"
    assert axis["ticktext"][-2:] == ["10%", "100%"] and axis["tickvals"][1] <= least


def test_a_search_without_a_loss_has_its_points_at_zero():
    plot = search.trials(searched((4e6, 0.0), (6e6, 0.0)))
    assert set(plot["data"][0]["y"]) == {plot["layout"]["yaxis"]["tickvals"][0]}


def test_every_cache_of_the_ladder_has_its_line_and_its_label_above_the_plot():
    layout = latency_over_size(a_ladder(reported=CACHES))["layout"]
    assert {cache.bytes for cache in CACHES} <= {shape["x0"] for shape in layout["shapes"]}
    labels = {label["text"]: label for label in layout["annotations"]}
    assert {"L1 32.0 KiB", "L2 2.00 MiB", "L3 24.0 MiB"} <= labels.keys()
    assert all(label["y"] == 1 and label["yanchor"] == "bottom" for label in labels.values())
    assert len({label["yshift"] for label in labels.values()}) == 2, "measured and reported sizes have a row each"


def test_a_cache_larger_than_the_ladder_is_named_at_its_edge():
    layout = latency_over_size(a_ladder(reported=[Cache(level=3, bytes=384 << 20)]))["layout"]
    (label,) = [label for label in layout["annotations"] if label["text"].startswith("L3")]
    assert (label["text"], label["x"], label["xanchor"]) == ("L3 384 MiB →", 1, "right")
    assert 384 << 20 not in {shape["x0"] for shape in layout["shapes"]}


def test_a_name_is_neither_markup_nor_a_format_of_plotly():
    assert label_text("<a href='x'>%{y:300000000d} 5%</a>") == (
        "&lt;a href=&#x27;x&#x27;&gt;&#37;{y:300000000d} 5%&lt;/a&gt;"
    )
