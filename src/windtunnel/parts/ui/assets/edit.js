// Keeps text, form and check of a scenario in step. The server changes and checks; this sends what was typed and shows what comes back.
const PAUSE_MS = 350; // of typing, after which the text is checked
const edit = document.getElementById("edit");
const text = document.getElementById("text");
const numbers = document.getElementById("numbers");
let last = Promise.resolve(); // requests go one after the other: each begins with the text that the one before has made
let typed = 0;

function number() {
  const wrong = Number(text.dataset.line);
  numbers.replaceChildren(
    ...text.value.split("\n").map((_, n) => {
      const line = document.createElement("span");
      line.textContent = `${n + 1}\n`;
      line.className = n + 1 === wrong ? "wrong" : "";
      return line;
    }),
  );
  numbers.scrollTop = text.scrollTop;
}

function shown(id, html) {
  const place = document.getElementById(id);
  const open = new Map([...place.querySelectorAll("details")].map((each) => [each.id, each.open]));
  place.innerHTML = html; // from our own templates, which escape
  for (const each of place.querySelectorAll("details")) if (open.has(each.id)) each.open = open.get(each.id);
}

function show(found) {
  if (found.form !== undefined) shown("form", found.form);
  if (found.text !== undefined && found.text !== text.value) text.value = found.text;
  shown("checked", found.checked);
  text.dataset.line = found.line ?? "";
  number();
}

// `stale`: what came back is of a text that was typed on since.
function ask(where, more, stale = () => false) {
  last = last
    .then(async () => {
      if (stale()) return;
      const body = new URLSearchParams({ ...Object.fromEntries(new FormData(edit)), ...more });
      const reply = await fetch(where, { method: "POST", body });
      if (!reply.ok) throw new Error(await reply.text());
      const found = await reply.json();
      if (!stale()) show(found);
    })
    .catch((error) => {
      document.getElementById("checked").textContent = `not checked: ${error.message}`;
    });
  return last;
}

function check() {
  const now = ++typed;
  setTimeout(() => {
    if (now === typed) ask("/edit/check", { form: "1" }, () => now !== typed);
  }, PAUSE_MS);
}

function goTo(line) {
  const before = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  const end = text.value.indexOf("\n", before);
  text.focus();
  text.setSelectionRange(before, end < 0 ? text.value.length : end);
  text.scrollTop = (line - 4) * parseFloat(getComputedStyle(text).lineHeight);
}

function pressed(button) {
  const { line, add, remove, opens } = button.dataset;
  if (opens) {
    edit.elements.opens.value = opens; // for this page, from now on
    ask("/edit/check", {});
  }
  if (line) goTo(Number(line));
  if (add) ask("/edit/key", { action: "add", path: add, form: "1" });
  if (remove) ask("/edit/key", { action: "remove", path: remove, form: "1" });
}

// Another wire has other options. Other keys leave the form as it is: somebody may be typing in it.
function chosen(field) {
  const { path } = field.dataset;
  ask("/edit/key", { action: "set", path, value: field.value, ...(path === "wire.kind" ? { form: "1" } : {}) });
}

if (edit) {
  text.addEventListener("input", () => (number(), check()));
  text.addEventListener("scroll", () => (numbers.scrollTop = text.scrollTop));
  edit.addEventListener("change", (event) => event.target.dataset.path && chosen(event.target));
  edit.addEventListener("click", (event) => {
    const button = event.target.closest("button[type=button]");
    if (button) pressed(button);
  });
  edit.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT" || event.target.id === "new") return;
    event.preventDefault(); // Enter in a field is that field's, and neither saves nor starts
    event.target.blur();
    event.target.focus();
  });
  number();
  check(); // the page itself checks nothing: a GET opens no handler
}

const narrow = document.getElementById("narrow");
const wire = document.getElementById("wire");

function narrowed() {
  const text = narrow.value.toLowerCase();
  const all = [...document.querySelectorAll(".scenarios li")];
  for (const each of all) {
    each.hidden = !each.textContent.toLowerCase().includes(text) || (wire.value !== "" && each.dataset.wire !== wire.value);
  }
  document.getElementById("none").hidden = all.some((each) => !each.hidden);
}

narrow?.form.addEventListener("submit", (event) => event.preventDefault());
narrow?.addEventListener("input", narrowed);
wire?.addEventListener("change", narrowed);
if (narrow) window.addEventListener("pageshow", narrowed); // a page that comes back has what was typed
