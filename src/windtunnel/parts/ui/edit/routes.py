"""The pages of Edit and start, for the user whose server this is."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from windtunnel.errors import UserError
from windtunnel.index.index import Index
from windtunnel.parts.ui.edit.change import changed, path_of, value_from
from windtunnel.parts.ui.edit.form import TableFields, form_of, kind_at
from windtunnel.parts.ui.edit.origin import SUFFIX, Origin, files_of, is_of_checkout, new_name, origin_of, shipped
from windtunnel.parts.ui.edit.scenario_check import NOT_REQUESTED, ScenarioCheck, check
from windtunnel.parts.ui.edit.scenario_directory import ScenarioDirectory
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.parts.ui.form_body import form_fields
from windtunnel.parts.ui.guard import is_own
from windtunnel.parts.ui.templates import Pages, refusal_response
from windtunnel.scenario import toml
from windtunnel.scenario.load import MAX_FILE_BYTES

NOT_OURS = (
    "scenarios are edited and started by the user who runs this server alone, on this host: a scenario may name a plug-in, "
    "whose code runs as that user\n"
)


@dataclass(frozen=True)
class Editor:
    """The objects that the pages share."""

    pages: Pages
    scenarios: ScenarioDirectory
    index: Index
    started: StartedRuns

    def lists(self) -> dict[str, Any]:
        """The possible origins: heading, kind of origin and scenarios of each list, and the wires that occur."""
        files, ours = files_of(self.scenarios), shipped()
        yours = [listed for listed in files if not is_of_checkout(listed, self.scenarios)]
        lists = [("Your scenarios", "file", yours), ("Shipped scenarios", "shipped", ours)]
        if rest := [listed for listed in files if listed not in yours]:
            lists.append(("Other scenarios of the checkout", "file", rest))
        return {"lists": lists, "wires": sorted({listed.wire for listed in (*files, *ours) if listed.wire})}

    def origin(self, fields: dict[str, str]) -> Origin:
        """The origin that the fields name. Raises UserError."""
        return origin_of(fields.get("kind", ""), fields.get("name", ""), self.scenarios, self.index)

    def checked(self, origin: Origin, text: str, opens: bool) -> ScenarioCheck:
        base = self.scenarios.root if origin.kind != "shipped" else origin.place.parent
        return check(origin.place, text, base, came_with_run=origin.kind == "run", opens=opens)

    def parts(self, origin: Origin, text: str, form: bool, opens: bool) -> dict[str, Any]:
        """The text with its check; with `form`, also the form, as long as the text is TOML."""
        checked = self.checked(origin, text, opens)
        parts = {"text": text, "checked": self.pages.filled("checked.html", checked=checked), "line": checked.line}
        table = _table_of(text) if form else None
        return parts | ({"form": self.pages.filled("edit_form.html", table=table)} if table else {})

    def page(self, origin: Origin, text: str, name: str, problem: UserError | None = None) -> Response:
        values = {"origin": origin, "text": text, "name": name, "checked": NOT_REQUESTED}
        table = _table_of(text)
        html = self.pages.filled(
            "editor.html", page="edit", table=table, scenarios=self.scenarios, problem=problem, **values
        )
        return HTMLResponse(html)

    def save(self, origin: Origin, text: str, name: str) -> str:
        """Saves the text and returns its name; the name of the file itself if nothing was changed. Raises UserError."""
        if origin.kind == "file" and text == origin.text:
            return origin.name
        if not name.endswith(SUFFIX):
            raise UserError(f"{name or 'no name'}: not the name of a scenario", remedy=f'a name as in "mine{SUFFIX}"')
        if len(content := text.encode(errors="replace")) > MAX_FILE_BYTES:
            raise UserError(f"larger than {MAX_FILE_BYTES >> 10} KiB", remedy="a shorter text")
        self.scenarios.write_new(name, content, origin.files)
        return name

    def start(self, origin: Origin, text: str, name: str) -> None:
        """Starts a run, and saves a changed text before. Raises UserError if `check` refuses it, before anything is saved."""
        checked = self.checked(origin, text, opens=True)
        if checked.problem:
            raise UserError(checked.problem, checked.remedy)
        shipped_as_it_is = origin.kind == "shipped" and text == origin.text
        self.started.start(
            origin.place if shipped_as_it_is else self.scenarios.root / self.save(origin, text, name), text
        )


def _table_of(text: str) -> TableFields | None:
    """The form; None if the text is no TOML."""
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
                editor.pages.filled("edit.html", page="edit", scenarios=editor.scenarios, wire=wire, **editor.lists())
            )
        try:
            origin = origin_of(kind, name, editor.scenarios, editor.index)
        except UserError as error:
            return refusal_response(error, 404)
        return editor.page(origin, origin.text, new_name(origin, editor.scenarios))

    @app.post("/edit/check")
    async def checked(request: Request) -> Response:
        return await _parts_response(request, editor, lambda fields: fields.get("text", ""))

    @app.post("/edit/key")
    async def key(request: Request) -> Response:
        return await _parts_response(request, editor, _with_key)

    @app.post("/edit/save")
    async def save(request: Request) -> Response:
        return await _save_response(request, editor, starts=False)

    @app.post("/edit/start")
    async def start(request: Request) -> Response:
        return await _save_response(request, editor, starts=True)


def _with_key(fields: dict[str, str]) -> str:
    """The text with one key changed, or one table added or removed. Raises UserError."""
    text, path, value = fields.get("text", ""), path_of(fields.get("path", "")), fields.get("value", "")
    if fields.get("action") == "add":
        return changed(text, "add", path)
    if fields.get("action") == "remove" or not value:
        return changed(text, "remove", path)
    return changed(text, "set", path, value_from(value, kind_at(fields["path"])))


async def _parts_response(request: Request, editor: Editor, text_of: Any) -> Response:
    """The response for the page's script: the new text, its check, and the form if the script requests it."""
    if not is_own(request.scope):
        return PlainTextResponse(NOT_OURS, status_code=403)
    fields = await form_fields(request)

    def respond() -> Response:
        try:
            origin = editor.origin(fields)
            opens = fields.get("opens") == "1"
            return JSONResponse(editor.parts(origin, text_of(fields), "form" in fields, opens))
        except UserError as error:
            why = editor.pages.filled("checked.html", checked=ScenarioCheck(error.message, error.remedy))
            return JSONResponse({"checked": why, "line": None})

    return await run_in_threadpool(respond)


async def _save_response(request: Request, editor: Editor, starts: bool) -> Response:
    """Saves a text, or saves and starts it; on an error, the response is the page with the typed text and the error."""
    if not is_own(request.scope):
        return PlainTextResponse(NOT_OURS, status_code=403)
    fields = await form_fields(request)

    def respond() -> Response:
        try:
            origin = editor.origin(fields)
        except UserError as error:
            return refusal_response(error, 404)
        text, name = fields.get("text", origin.text), fields.get("new", "").strip()
        try:
            if starts:
                editor.start(origin, text, name)
                return RedirectResponse("/", status_code=303)
            saved = editor.save(origin, text, name)
        except UserError as error:
            return editor.page(origin, text, name, error)
        return RedirectResponse(f"/edit?{urlencode({'kind': 'file', 'name': saved})}", status_code=303)

    return await run_in_threadpool(respond)
