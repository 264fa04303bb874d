"""The pages around the replay: a captured page with its date and other dates, the list of captures, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from exporter.archive.archive import Archive
from exporter.html.pages import site_style
from exporter.library.views import served_options
from exporter.service.registry import service_of
from exporter.site import NAME
from exporter.site.captured import CAPTURE_PAGE, CapturedPages, capture_link, moment_of
from exporter.site.catalogue import safe_name
from exporter.site.pages.captures import captures_context
from exporter.site.templating import OPTIONAL_LISTS, PageRenderer, Parts, framing_policy, render_alone
from exporter.text import visible
from exporter.translation import translated, translator
from exporter.warc.lookup import CaptureLookup

if TYPE_CHECKING:
    from exporter.settings import Settings

STYLE: Final = "replay.css"
_STYLES: Final = Path(__file__).parent / "static" / STYLE
_MAX_DATES: Final = 200
_MAX_SHOWN_CHARACTERS: Final = 500
_LAST_GOOD_STATUS: Final = 399


def capture_page(path: Path, settings: Settings, asked: Mapping[str, str], root: str, source: str) -> tuple[bytes, int]:
    """Return the page for an address and a time, or the list of captures, and the HTTP status.

    Args:
        path: the archive.
        settings: how to read its records, and the options of its site.
        asked: ``url``, ``at`` (14 digits, by default the newest) and ``entry`` of the query.
        root: the address of the replay.
        source: the same for a policy.
    """
    archive = Archive.open(path)
    options = served_options(settings, archive)
    parts = Parts(options.language, service_of(settings, archive.info.service).timezone)
    site = archive.layout.latest / NAME
    lists = {name for name in OPTIONAL_LISTS if (site / f"{name}.html").is_file()}
    renderer = PageRenderer(options, archive.info.blog_id, parts, lists, framing_policy(source))
    t, address, entry = translator(options.language), asked.get("url", "").strip(), asked.get("entry", "")
    lookup = CaptureLookup(archive.layout)
    if not address:
        captured = CapturedPages(archive.layout)
        context = captures_context(captured, parts.dates, t)
        context |= {"served": True, "starts": _starts(captured, lookup)}
        return renderer.render("captures.html", CAPTURE_PAGE, **context), 200
    moment = moment_of(asked.get("at", ""))
    found = lookup.nearest(address, moment)
    shown = visible(address[:_MAX_SHOWN_CHARACTERS])[0]
    context = {"title": t("Not captured"), "address": shown, "shown_at": "", "dates_of": [], "back": ""}
    if entry and len(entry) < 100:
        context["back"] = f"entry/{safe_name(entry)}.html"
    if found is not None:
        stamp = found.line.timestamp
        stamps = {each.line.timestamp for each in lookup.all(address) if each.line.status <= _LAST_GOOD_STATUS}
        newest = sorted(stamps | {stamp}, reverse=True)[:_MAX_DATES]
        when = parts.dates.local_minute(found.line.moment)
        context |= {
            "title": t("As it looked on {when}", when=when),
            "shown_at": f"{root}{stamp}/{found.line.url}",
            "dates_of": [(_minute(parts, each), capture_link(address, each, entry), each == stamp) for each in newest],
        }
    return renderer.render("replay.html", CAPTURE_PAGE, **context), 200 if found is not None else 404


def _minute(parts: Parts, stamp: str) -> str:
    moment = moment_of(stamp)
    return stamp if moment is None else parts.dates.local_minute(moment)


def _starts(captured: CapturedPages, lookup: CaptureLookup) -> dict[int, str]:
    """Return a link to the first page of the blog in each capture."""
    found = {}
    for number, info in captured.rows:
        start = info.scope[0] if info is not None and info.scope else ""
        stamp = "".join(filter(str.isdigit, info.finished_at))[:14] if info is not None else ""
        if start and moment_of(stamp) is not None and lookup.nearest(start) is not None:
            found[number] = capture_link(start, stamp)
    return found


def style_sheet() -> bytes:
    """Return the style of these pages."""
    return _STYLES.read_bytes()


def note_page(language: str, problem: str, address: str) -> str:
    """Return the frame's page about a problem, or about an address without a capture."""
    values: dict[str, Any] = {
        "problem": visible(translated(problem, language))[0] if problem else "",
        "address": visible(address[:_MAX_SHOWN_CHARACTERS])[0],
        "style": Markup(site_style()),  # noqa: S704  a file of the program
    }
    return render_alone("replay_note.html", language, values)
