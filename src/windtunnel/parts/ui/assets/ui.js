// Draws the live series. Everything else of the page is HTML that the server sends.
"use strict";

const plots = new Map(); // "run of" -> uPlot
const last = new Map(); // run -> series

// A canvas takes no light-dark() and no var(): an element is asked what the colour is now.
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const SERIES = ["--work", "--stall", "--series-3", "--series-2", "--series-4"];

function three(value) {
  return value === 0 ? "0" : String(Number(value.toPrecision(3)));
}

// With its unit: rates come in M/s, latencies in µs.
const WRITTEN = {
  rate: (value) => (value >= 1 || value === 0 ? `${three(value)} M/s` : `${three(value * 1e3)} k/s`),
  latency: (value) => (value >= 1e6 ? `${three(value / 1e6)} s` : value >= 1e3 ? `${three(value / 1e3)} ms` : value >= 1 || value === 0 ? `${three(value)} µs` : `${three(value * 1e3)} ns`),
};

function options(box, names, written) {
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule"), width: 1 } };
  const shown = (_, value) => (value == null ? "–" : written(value));
  return {
    width: box.clientWidth,
    height: 190,
    scales: { x: { time: false }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
      { ...axis, size: 72, values: (_, ticks) => ticks.map(written) },
    ],
    series: [
      { label: "time", value: (_, value) => (value == null ? "–" : `${value.toFixed(2)} s`) },
      ...names.map((name, n) => ({ label: name, stroke: colour(SERIES[n % SERIES.length]), width: 2, value: shown, points: { show: false } })),
    ],
  };
}

function draw(box, run, series) {
  const of = series[box.dataset.of];
  const names = Object.keys(of);
  const key = `${run} ${box.dataset.of}`;
  const data = [series.times, ...names.map((name) => of[name])];
  let plot = plots.get(key);
  if (plot && (plot.root.parentNode !== box || plot.series.length !== data.length)) {
    plot.destroy();
    plot = undefined;
  }
  if (plot) {
    plot.setData(data);
  } else if (names.length && box.clientWidth) {
    plots.set(key, new uPlot(options(box, names, WRITTEN[box.dataset.of]), data, box));
  }
}

function drawAll() {
  for (const charts of document.querySelectorAll(".charts")) {
    const series = last.get(charts.dataset.run);
    if (series) for (const box of charts.querySelectorAll(".chart")) draw(box, charts.dataset.run, series);
  }
}

function forget() {
  for (const plot of plots.values()) plot.destroy();
  plots.clear();
  drawAll();
}

// The series come as events beside the HTML, on the same connection: they are drawn, and not swapped in.
document.addEventListener("htmx:sseBeforeMessage", (event) => {
  if (!event.target.classList.contains("series")) return;
  event.preventDefault();
  last.set(event.target.dataset.run, JSON.parse(event.detail.data));
  drawAll();
});

// A list that was swapped in has the series as they were then: an event for a run comes before htmx knows of its place.
function take() {
  for (const place of document.querySelectorAll(".series[data-series]")) {
    const series = JSON.parse(place.dataset.series);
    place.removeAttribute("data-series");
    const known = last.get(place.dataset.run);
    if (!known || known.times.length < series.times.length) last.set(place.dataset.run, series);
  }
  drawAll();
}
document.addEventListener("htmx:afterSettle", take);
document.addEventListener("DOMContentLoaded", take);
window.addEventListener("resize", () => {
  for (const plot of plots.values()) plot.setSize({ width: plot.root.parentNode.clientWidth, height: 190 });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", forget);

// Sliders of weights: the number goes along, and what the daemon refuses stands beside them.
document.addEventListener("input", (event) => {
  if (event.target.type === "range") event.target.form.querySelector("output").value = event.target.value;
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.target.matches("form.weight")) event.target.querySelector("[role=alert]").textContent = event.detail.successful ? "" : event.detail.xhr.responseText;
});
