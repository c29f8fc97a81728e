// Draws a history: a point a run, a line for the levels, a dashed line a change point. Colours and units are those of ui.js.
"use strict";

const HEIGHT = 260;
const TICK = 96; // pixels, at least
const LONGEST = 12; // characters of a version below the chart
const DAY = 86400;
let drawn;

function drawChanges(plot, places) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour("--ink");
  ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const place of places) {
    const x = plot.valToPos(plot.data[0][place], "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

// Dates in UTC, as everywhere else.
function dates(_, ticks, __, ___, step) {
  const [from, to] = step >= 28 * DAY ? [0, 7] : step >= DAY ? [5, 10] : [5, 16];
  return ticks.map((tick) => new Date(tick * 1e3).toISOString().slice(from, to).replace("T", " "));
}

// A tick at the first run of a version, as many as have room.
function firsts(plot, versions) {
  const starts = versions.flatMap((version, place) => (place === 0 || version !== versions[place - 1] ? [place] : []));
  const every = Math.ceil(starts.length / Math.max(1, Math.floor(plot.width / TICK)));
  return starts.filter((_, n) => n % every === 0);
}

function short(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

// uPlot gives one point three years.
function aroundOne(history) {
  if (history.values.length !== 1) return {};
  const [middle, half] = history.times ? [history.times[0], DAY / 2] : [0, 1];
  return { range: [middle - half, middle + half] };
}

function settings(box, history) {
  const written = (value) => (value == null ? "–" : WRITTEN[history.of](value));
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { stroke: colour("--rule"), width: 1 } };
  const versions = { splits: (plot) => firsts(plot, history.versions), values: (_, ticks) => ticks.map((tick) => short(history.versions[tick])) };
  const open = (plot) => plot.cursor.idx != null && location.assign(`/report?path=${encodeURIComponent(history.paths[plot.cursor.idx])}`);
  return {
    width: box.clientWidth,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
    scales: { x: { time: history.times !== null, ...aroundOne(history) } },
    axes: [
      { ...axis, space: TICK, ...(history.times ? { values: dates } : versions) },
      { ...axis, size: 76, values: (_, ticks) => ticks.map(written) },
    ],
    cursor: { drag: { x: false, y: false, click: () => {} } }, // uPlot would take a click for the end of a drag
    series: [
      { label: "run", value: (_, value, __, place) => (place == null ? "–" : history.names[place]) },
      { label: "value", stroke: colour("--work"), paths: () => null, points: { show: true, size: 8, fill: colour("--work") }, value: (_, value) => written(value) },
      { label: "level", stroke: colour("--stall"), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false }, value: (_, value) => written(value) },
    ],
    hooks: {
      draw: [(plot) => drawChanges(plot, history.changes)],
      ready: [(plot) => plot.over.addEventListener("click", () => open(plot))],
    },
  };
}

function drawHistory() {
  const box = document.querySelector(".chart.history");
  if (!box) return;
  const history = JSON.parse(box.dataset.history);
  drawn?.destroy();
  const places = history.times ?? history.values.map((_, place) => place);
  drawn = new uPlot(settings(box, history), [places, history.values, history.levels], box);
}

document.addEventListener("DOMContentLoaded", drawHistory);
window.addEventListener("resize", () => drawn?.setSize({ width: drawn.root.parentNode.clientWidth, height: HEIGHT }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawHistory);
