// Draws the figures in the colours of the theme that is on, and again when it changes.
// A figure names colours as "var(--work)"; plotly knows no CSS variables, so a probe asks the browser what they stand for.
"use strict";

const figures = JSON.parse(document.getElementById("_plots").textContent);
const probe = document.body.appendChild(document.createElement("i"));
probe.hidden = true;

function resolved(value) {
  if (typeof value === "string" && value.startsWith("var(--")) {
    if (value === "var(--sans)") return getComputedStyle(document.body).fontFamily;
    probe.style.color = value;
    return getComputedStyle(probe).color;
  }
  if (Array.isArray(value)) return value.map(resolved);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolved(part)]));
  return value;
}

function draw() {
  for (const [id, figure] of Object.entries(figures)) {
    const { data, layout } = resolved(figure);
    Plotly.react(id, data, layout, { responsive: true, displayModeBar: false });
  }
}

// Plotly lies in the page as gzip in base64. Browsers can unpack it since Chromium 80, Firefox 113 and Safari 16.4.
async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function load() {
  const shared = document.querySelector("script[src]");
  if (shared) throw new Error(`${shared.getAttribute("src")} is not there`);
  const plotly = document.createElement("script");
  plotly.textContent = await unpacked("_plotly");
  document.head.append(plotly);
}

async function start() {
  if (!window.Plotly) await load();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

start().catch((error) => {
  for (const id of Object.keys(figures))
    document.getElementById(id).textContent = `The plots cannot be drawn: ${error.message}`;
});
