"""Requests for the window's pages, the answers, and the templates, which use the site's design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from exporter.cli.output import time_text
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from exporter.window.jobs import JobState


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: ``GET`` or ``POST``, the parts of its path without the secret, its query and its form."""

    method: str
    parts: tuple[str, ...]
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, list[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a form field's first value, without spaces around it; empty without one."""
        return next(iter(self.form.get(name, [])), "").strip()


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect to a path below the secret."""

    to: str


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page, and the HTTP status."""

    html: str
    status: int = 200


Answer = Redirect | RenderedPage


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("exporter", "window/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=translated,  # messages among a page's values are shown in the interface language
        trim_blocks=True,
        lstrip_blocks=True,
    )


def rendered(template: str, language: str, root: str, status: int = 200, **context: Any) -> RenderedPage:
    """Return a page.

    Args:
        template: the name of its template.
        language: the page's, ``en`` or ``ja``.
        root: the path to the first page, ``/SECRET/``.
        status: the HTTP status.
        context: the template's values.
    """
    values = {"breakable": _breakable, "t": translator(language), "language": language, "root": root, **context}
    return RenderedPage(_environment().get_template(template).render(values), status)


def _breakable(name: str) -> Markup:
    """Return a name that may break after its dots, as addresses do."""
    return Markup(".<wbr>").join(escape(part) for part in name.split("."))


def progress_document(state: JobState, language: str) -> dict[str, Any]:
    """Return a job's state for the page's script, with all words in the page's language."""
    left = "" if state.seconds_left is None else str(translated(time_text(state.seconds_left), language))
    return {
        "running": state.running,
        "exit_code": state.exit_code,
        "rows": [_row(row) for row in state.rows],
        "left": left,
        "lines": [{"event": line.event, "text": line.text} for line in state.lines[-LINES_SHOWN:]],
        "error": state.error,
        "stage": state.question or state.opens,
    }


LINES_SHOWN: Final = 40


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    done, total = (value if isinstance(value, int) else None for value in (row.get("done"), row.get("total")))
    shown = f"{done or 0:,}" if total is None else f"{done or 0:,} / {total:,}"
    return {"name": str(row.get("name", "")), "done": done or 0, "total": total, "shown": shown}
