"""The pages of Edit and start, for the user whose server this is."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from windtunnel.errors import UserError
from windtunnel.index.index import Index
from windtunnel.scenario import toml
from windtunnel.scenario.load import MAX_FILE_BYTES
from windtunnel.ui.edit.below import Below
from windtunnel.ui.edit.change import changed, path_of, value_from
from windtunnel.ui.edit.checked import NOT_ASKED, Checked, check
from windtunnel.ui.edit.form import TableFields, form_of, kind_at
from windtunnel.ui.edit.origin import SUFFIX, Origin, files_of, is_of_checkout, new_name, origin_of, shipped
from windtunnel.ui.edit.start import Started
from windtunnel.ui.forms import said
from windtunnel.ui.guard import is_own
from windtunnel.ui.templates import Pages, refused

NOT_OURS = (
    "scenarios are edited and started by the user who runs this server alone, on this host: a scenario may name a plug-in, "
    "whose code runs as that user\n"
)


@dataclass(frozen=True)
class Editor:
    """What the pages have in common."""

    pages: Pages
    below: Below
    index: Index
    started: Started

    def lists(self) -> dict[str, Any]:
        """What one can begin with: heading, kind of origin and scenarios of each list, and the wires that occur."""
        files, ours = files_of(self.below), shipped()
        yours = [each for each in files if not is_of_checkout(each, self.below)]
        lists = [("Your scenarios", "file", yours), ("Shipped scenarios", "shipped", ours)]
        if rest := [each for each in files if each not in yours]:
            lists.append(("Other scenarios of the checkout", "file", rest))
        return {"lists": lists, "wires": sorted({each.wire for each in (*files, *ours) if each.wire})}

    def origin(self, fields: dict[str, str]) -> Origin:
        """Raises UserError."""
        return origin_of(fields.get("kind", ""), fields.get("name", ""), self.below, self.index)

    def checked(self, origin: Origin, text: str, opens: bool) -> Checked:
        base = self.below.root if origin.kind != "shipped" else origin.place.parent
        return check(origin.place, text, base, sent=origin.kind == "run", opens=opens)

    def parts(self, origin: Origin, text: str, form: bool, opens: bool) -> dict[str, Any]:
        """The text with its check; with `form`, also the form, as long as the text is TOML."""
        checked = self.checked(origin, text, opens)
        found = {"text": text, "checked": self.pages.filled("checked.html", checked=checked), "line": checked.line}
        table = _table_of(text) if form else None
        return found | ({"form": self.pages.filled("edit_form.html", table=table)} if table else {})

    def page(self, origin: Origin, text: str, name: str, problem: UserError | None = None) -> Response:
        values = {"origin": origin, "text": text, "name": name, "checked": NOT_ASKED}
        table = _table_of(text)
        html = self.pages.filled("editor.html", page="edit", table=table, below=self.below, problem=problem, **values)
        return HTMLResponse(html)

    def save(self, origin: Origin, text: str, name: str) -> str:
        """The name under which it is saved; that of the file itself where nothing was changed. Raises UserError."""
        if origin.kind == "file" and text == origin.text:
            return origin.name
        if not name.endswith(SUFFIX):
            raise UserError(f"{name or 'no name'}: not the name of a scenario", remedy=f'a name as in "mine{SUFFIX}"')
        if len(content := text.encode(errors="replace")) > MAX_FILE_BYTES:
            raise UserError(f"larger than {MAX_FILE_BYTES >> 10} KiB", remedy="a shorter text")
        self.below.write_new(name, content, origin.files)
        return name

    def start(self, origin: Origin, text: str, name: str) -> None:
        """Saves a text that was changed. Raises UserError for what `check` refuses, before anything is saved."""
        checked = self.checked(origin, text, opens=True)
        if checked.problem:
            raise UserError(checked.problem, checked.remedy)
        shipped_as_it_is = origin.kind == "shipped" and text == origin.text
        self.started.start(origin.place if shipped_as_it_is else self.below.root / self.save(origin, text, name), text)


def _table_of(text: str) -> TableFields | None:
    """The form; None where the text is no TOML."""
    try:
        return form_of(toml.parse(text))
    except toml.Fault:
        return None


def add_to(app: FastAPI, editor: Editor) -> None:
    @app.get("/edit")
    def edit(request: Request, kind: str = "", name: str = "", wire: str = "") -> Response:
        if not is_own(request.scope):
            return PlainTextResponse(NOT_OURS, status_code=403)
        if not kind:
            return HTMLResponse(
                editor.pages.filled("edit.html", page="edit", below=editor.below, wire=wire, **editor.lists())
            )
        try:
            origin = origin_of(kind, name, editor.below, editor.index)
        except UserError as error:
            return refused(error, 404)
        return editor.page(origin, origin.text, new_name(origin, editor.below))

    @app.post("/edit/check")
    async def checked(request: Request) -> Response:
        return await _parts(request, editor, lambda fields: fields.get("text", ""))

    @app.post("/edit/key")
    async def key(request: Request) -> Response:
        return await _parts(request, editor, _with_key)

    @app.post("/edit/save")
    async def save(request: Request) -> Response:
        return await _kept(request, editor, starts=False)

    @app.post("/edit/start")
    async def start(request: Request) -> Response:
        return await _kept(request, editor, starts=True)


def _with_key(fields: dict[str, str]) -> str:
    """The text with one key changed, or one table added or removed. Raises UserError."""
    text, path, value = fields.get("text", ""), path_of(fields.get("path", "")), fields.get("value", "")
    if fields.get("action") == "add":
        return changed(text, "add", path)
    if fields.get("action") == "remove" or not value:
        return changed(text, "remove", path)
    return changed(text, "set", path, value_from(value, kind_at(fields["path"])))


async def _parts(request: Request, editor: Editor, text_of: Any) -> Response:
    """For the page's script: the new text, its check, and the form where the script asks for it."""
    if not is_own(request.scope):
        return PlainTextResponse(NOT_OURS, status_code=403)
    fields = await said(request)

    def made() -> Response:
        try:
            origin = editor.origin(fields)
            opens = fields.get("opens") == "1"
            return JSONResponse(editor.parts(origin, text_of(fields), "form" in fields, opens))
        except UserError as error:
            why = editor.pages.filled("checked.html", checked=Checked(error.message, error.remedy))
            return JSONResponse({"checked": why, "line": None})

    return await run_in_threadpool(made)


async def _kept(request: Request, editor: Editor, starts: bool) -> Response:
    """Saved, or saved and started; else the page again with what was typed, and why not."""
    if not is_own(request.scope):
        return PlainTextResponse(NOT_OURS, status_code=403)
    fields = await said(request)

    def made() -> Response:
        try:
            origin = editor.origin(fields)
        except UserError as error:
            return refused(error, 404)
        text, name = fields.get("text", origin.text), fields.get("new", "").strip()
        try:
            if starts:
                editor.start(origin, text, name)
                return RedirectResponse("/", status_code=303)
            saved = editor.save(origin, text, name)
        except UserError as error:
            return editor.page(origin, text, name, error)
        return RedirectResponse(f"/edit?{urlencode({'kind': 'file', 'name': saved})}", status_code=303)

    return await run_in_threadpool(made)
