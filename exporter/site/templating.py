"""Pages from templates, and data as scripts: every value is escaped unless it was sanitized."""

from __future__ import annotations

from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from exporter import lossless_json
from exporter.message import message
from exporter.site.parts import CONTENT_LANGUAGE, KIND_NAMES, Parts
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from exporter.site import SiteOptions

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'"
)
"""The content that a page may load and run: its own scripts and styles, and pictures next to it."""

_NAVIGATION: Final = (
    ("home", "index.html", message("Home")),
    ("years", "years.html", message("By date")),
    ("categories", "categories.html", message("Categories")),
    ("comments", "comments.html", message("Comments")),
    ("gallery", "gallery.html", message("Pictures")),
    ("statistics", "statistics.html", message("Statistics")),
    ("history", "history.html", message("History")),
    ("about", "about.html", message("About this copy")),
)
_ESCAPED: Final = (
    (b"<", b"\\u003c"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


_TOGETHER: Final = 1_000
_CUT: Final = "\x00"
"""The mark at which a shell is cut; no page contains it otherwise."""
_SHELL: Final = (
    '{% extends "base.html" %}{% block scripts %}' + _CUT + "{% endblock %}{% block main %}" + _CUT + "{% endblock %}"
)


class Shell(NamedTuple):
    """A page frame: the parts before the title, the scripts and the text, and the part after it."""

    title: str
    scripts: str
    text: str
    end: str


class PageRenderer:
    """Renders pages of one site; all have the same frame."""

    def __init__(self, options: SiteOptions, blog_id: str, parts: Parts) -> None:
        self._environment = _environment()
        hidden = {"history"} if options.public else set()
        t = translator(options.language)
        self._frames: dict[tuple[str, str], dict[str, Markup]] = {}
        self._shells: dict[tuple[str, str], Shell] = {}
        self._common: dict[str, Any] = {
            "t": t,
            "language": options.language,
            "kind_names": {kind.value: translated(name, options.language) for kind, name in KIND_NAMES.items()},
            "dates": parts.dates,
            "site_title": visible(options.title or blog_id)[0],
            "blog_id": blog_id,
            "content_lang": CONTENT_LANGUAGE,
            "parts": parts,
            "public": options.public,
            "policy": POLICY,
            "navigation": [
                (name, path, translated(label, options.language))
                for name, path, label in _NAVIGATION
                if name not in hidden
            ],
        }

    def render(self, template: str, path: str, **context: Any) -> bytes:
        """Return the page at ``path`` in UTF-8; ``title`` is its own title, ``current`` its place in the navigation."""
        values = {"title": "", "current": "", "path": path, "root": root_of(path), **self._common, **context}
        frame = self._frame(values["root"], values["current"])
        pieces = self._environment.get_template(template).generate(values, frame=frame)
        made = []
        # Some at a time, since as text a page of a year's comments takes twice the memory of its bytes and more.
        while some := list(islice(pieces, _TOGETHER)):
            made.append(visible("".join(some))[0].encode())
        return b"".join(made)

    def frame_script(self) -> bytes:
        """Return the script that gives the history's frame to pages from the past, which have no frame."""
        frame = self._frame("../", "history")
        return script("blogFrame", frame["top"], frame["end"])

    def shell(self, root: str, current: str) -> Shell:
        """Return the frame shared by all pages in one folder and one place in the navigation, made once."""
        known = self._shells.get((root, current))
        if known is None:
            values = {"title": _CUT, "root": root, "current": current, **self._common}
            text = self._environment.from_string(_SHELL).render(values, frame=self._frame(root, current))
            known = self._shells[root, current] = Shell(*text.split(_CUT))
        return known

    def _frame(self, root: str, current: str) -> dict[str, Markup]:
        """Return the parts shared by all pages in one folder and one place in the navigation, made once."""
        known = self._frames.get((root, current))
        if known is None:
            values = {"root": root, "current": current, **self._common}
            known = self._frames[root, current] = {
                part: Markup(self._environment.get_template(f"{part}.html").render(values))  # noqa: S704  a template
                for part in ("head", "top", "end")
            }
        return known


def render_alone(template: str, language: str, values: dict[str, Any]) -> str:
    """Return a page that is part of no blog's site: no frame of one is around it."""
    return _environment().get_template(template).render({"t": translator(language), "language": language, **values})


def data_script(kind: str, name: str, value: Any) -> bytes:
    """Return a classic script that hands ``value`` to the site's own: ``blogData("kind", "name", value)``.

    Nothing but scripts loads where a page was opened from a folder. ``<`` is escaped, so that no text can end a script
    or open a comment, and so are the line ends that JSON allows and old scripts do not.
    """
    return script("blogData", kind, name, value)


def script(function: str, *values: Any) -> bytes:
    """Return a classic script that calls a function of the site's own with values."""
    texts = [lossless_json.dumps(value) for value in values]
    for found, escaped in _ESCAPED:
        texts = [text.replace(found, escaped) for text in texts]
    return b"%b(%b);\n" % (function.encode("ascii"), b",".join(texts))


def root_of(path: str) -> str:
    """Return the way from a page to the site's folder: empty, or ``../``."""
    return "../" * path.count("/")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
