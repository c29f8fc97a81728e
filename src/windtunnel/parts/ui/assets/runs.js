// The button that compares wakes when two runs are ticked, and the words beside it say which is A and which is B. The order is called by
// what is sorted. Without this script the page works all the same.
"use strict";

const ticks = [...document.querySelectorAll("#compare ~ section input[type=checkbox]")];
const button = document.querySelector("#compare button");
const words = document.getElementById("compared");
const sort = document.getElementById("sort");
const MOST = 2;

function named(tick) {
  return `${tick.dataset.title} (${tick.value.replace(/\/run\.json$/, "")})`;
}

function compared() {
  const ticked = ticks.filter((tick) => tick.checked);
  button.disabled = ticked.length !== MOST;
  words.textContent =
    ticked.length === MOST
      ? `A is ${named(ticked[0])}. B is ${named(ticked[1])}.`
      : ticked.length > MOST
        ? `${ticked.length} runs are ticked: leave two of them.`
        : `Tick ${ticked.length ? "one more run" : "two runs"} to compare.`;
}

function ordered() {
  const { down, up } = sort.selectedOptions[0].dataset;
  const [first, last] = document.getElementById("order").options;
  first.textContent = down;
  last.textContent = up;
}

if (button) {
  for (const tick of ticks) tick.addEventListener("change", compared);
  window.addEventListener("pageshow", compared); // a page that comes back has its ticks
}
sort.addEventListener("change", ordered);
