"""Pages from templates, data as scripts, and elements that occur thousands of times; every value is escaped.

Functions write comments, list lines and badges, ten times as fast as a template. They escape values as templates do.
Only the output of :mod:`exporter.html.page_body` is HTML already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from exporter import lossless_json
from exporter.html.dates import Dates
from exporter.html.links import commenter_link
from exporter.message import message, message_in_context
from exporter.model.kinds import Kind
from exporter.model.labels import AUDIENCE_NAMES, AUDIENCE_TIPS, is_marked, marks_of
from exporter.model.records import Audience
from exporter.site.catalogue import one_line
from exporter.site.library import LibraryBlog
from exporter.site.post_list import PostSummary
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from exporter.model.records import Comment
    from exporter.site import SiteOptions

CONTENT_LANGUAGE: Final = "ja"
"""The language of the blog's own texts (BCP 47)."""
KIND_NAMES: Final = {
    Kind.ENTRIES: message("Entries"),
    Kind.ENTRY_LIST: message("List items"),
    Kind.COMMENTS: message("Comments"),
    Kind.FILES: message("Uploads"),
    Kind.USER: message("User"),
    Kind.ASSETS: message_in_context("site", "Pictures and files"),
}
_MAX_NAME_CHARACTERS: Final = 200


def escaped(text: str) -> str:
    """Return a text as HTML and its attributes hold it, in the same bytes as templates write."""
    return str(escape(text))


class Parts:
    """Writes the parts in one language, and times in one zone.

    Args:
        language: the interface language, ``ja`` or ``en``.
        zone: of the times.
        blogs: the blogs of a library; empty in the site of one blog.

    Attributes:
        dates: writes dates.
    """

    def __init__(self, language: str, zone: tzinfo = UTC, blogs: Sequence[LibraryBlog] = ()) -> None:
        self._translated = translator(language)
        self._blogs = {blog.number: _blog_mark(blog) for blog in blogs}
        self._language = language
        self.dates = Dates(language, zone)

    def t(self, text: str, context: str = "", /, **values: object) -> str:
        """Return an interface sentence in the site's language, escaped."""
        return escaped(self._translated(text, context, **values))

    def say(self, text: str) -> str:
        """Return a message in the site's language, escaped."""
        return escaped(translated(text, self._language))

    def title(self, post: PostSummary) -> str:
        """Return an entry's displayed title."""
        return escaped(post.title) or self.t("(untitled)")

    def blogs(self, numbers: Iterable[int]) -> str:
        """Return the marks of these blogs as HTML."""
        return " ".join(map(self._blogs.__getitem__, numbers))

    def badges(self, post: PostSummary) -> Markup:
        """Return the badges for an entry that is private, restricted or gone, after the marks of its blogs."""
        stated = post.labels is not None and post.access in _AUDIENCES
        found = self.blogs(post.blogs) + self.audience(private=post.private, name=post.access if stated else "")
        if post.access and not stated:
            found += f'<span class="badge">{self.t("Visibility code {code}", code=post.access)}</span>'
        if post.gone_in:
            found += f'<span class="badge gone">{self.t("gone")}</span>'
        return Markup(found)  # noqa: S704  escaped above

    def audience(self, *, private: bool, name: str) -> str:
        """Return the badge for an entry that not everybody could read, as HTML; ``name`` is its audience's."""
        if private:
            tip = self.t("Only its writer could read this entry")
            return f'<span class="badge private" title="{tip}">{self.t("Private")}</span>'
        if name not in _AUDIENCES:
            return ""
        tip, word = (self.say(texts[Audience(name)]) for texts in (AUDIENCE_TIPS, AUDIENCE_NAMES))
        return f'<span class="badge private" title="{tip}">{word}</span>'

    def line(self, post: PostSummary, root: str) -> Markup:
        """Return an entry's line in a list; ``root`` is the way from the page to the site's folder."""
        day = f'<time datetime="{post.date:%Y-%m-%d}">{self.dates.day(post.date)}</time>' if post.date else ""
        number = post.comments
        talk = f'<span class="talk">{self.t("Comments: {n}", n=number)}</span>' if number else ""
        return Markup(  # noqa: S704  escaped above
            f'<li class="line" data-item>\n{day}<a href="{root}{post.page}" lang="{CONTENT_LANGUAGE}">'
            f"{self.title(post)}</a>\n{self.badges(post)}\n{talk}</li>\n"
        )

    def comment(self, comment: Comment, text: Markup, *, own: bool = False, marks: str = "") -> Markup:
        """Return a comment.

        Args:
            comment: the comment.
            text: its body as HTML.
            own: whether it has the owner's name.
            marks: the marks of its blogs as HTML.
        """
        language = f' lang="{CONTENT_LANGUAGE}"'
        name = escaped(one_line(comment.name)[:_MAX_NAME_CHARACTERS]) or self.t("(no name)")
        title = escaped(one_line(comment.title)[:_MAX_NAME_CHARACTERS])
        reply = self.dates.local(one_line(comment.reply or ""))
        link = commenter_link(comment.url)
        parts = [f'<p class="by"><bdi class="who"{language}>{name}</bdi>\n']
        if link is not None:
            address = escaped(link)
            parts.append(
                f'<a class="home" href="{address}" rel="noopener noreferrer">↗<span class="unseen">{address}</span></a>'
            )
        if comment.by_owner:
            parts.append(
                f'<span class="badge own" title="{self.t("By the owner of the blog")}">{self.t("author")}</span>'
            )
        elif own:
            tip = self.t("The name of the user whose backup this is")
            parts.append(f'<span class="badge own" title="{tip}">{self.t("author")}</span>')
        if comment.date is not None and comment.has_time and is_marked(comment):
            parts.append(f'<time datetime="{comment.date.isoformat()}">{self.dates.minute(comment.date)}</time>')
        elif comment.date is not None:
            parts.append(f'<time datetime="{comment.date:%Y-%m-%d}">{self.dates.day(comment.date)}</time>')
        parts += (f'<span class="badge">{self.say(mark)}</span>' for mark in marks_of(comment))
        parts.append(marks)
        if comment.deleted:
            parts.append(f'<span class="badge">{self.t("Flagged t")}</span>')
        parts.append("</p>\n")
        if title:
            parts.append(f'<p class="subject"{language}>{title}</p>')
        parts.append(f'<div class="body"{language}>{text}</div>\n')
        if reply:
            parts.append(f'<p class="faint">{self.t("Answered {when}", when=reply)}</p>')
        return Markup("".join(parts))  # noqa: S704  escaped above


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'"
)
"""The content that a page may load and run: its own scripts and styles, and pictures next to it."""

BLOGS_PAGE: Final = "blogs.html"
_NAVIGATION: Final = (
    ("home", "index.html", message("Home")),
    ("years", "years.html", message("By date")),
    ("blogs", BLOGS_PAGE, message("Blogs")),
    ("pages", "pages.html", message_in_context("kind of entry", "Pages")),
    ("categories", "categories.html", message("Categories")),
    ("tags", "tags.html", message("Tags")),
    ("authors", "authors.html", message("Authors")),
    ("comments", "comments.html", message("Comments")),
    ("gallery", "gallery.html", message("Pictures")),
    ("statistics", "statistics.html", message("Statistics")),
    ("history", "history.html", message("History")),
    ("about", "about.html", message("About this copy")),
)
OPTIONAL_LISTS: Final = frozenset({"blogs", "pages", "tags", "authors", "history"})
"""The pages that only some sites have."""
_AUDIENCES: Final = frozenset(AUDIENCE_TIPS)
_ESCAPED: Final = (
    (b"<", b"\\u003c"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


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


def _blog_mark(blog: LibraryBlog) -> str:
    """Return a blog's mark as HTML: its name, in its colour."""
    return f'<span class="blog c{blog.colour}" lang="{CONTENT_LANGUAGE}">{escaped(blog.title)}</span>'


class PageRenderer:
    """Renders pages of one site; all have the same frame.

    Args:
        options: the options of the site.
        blog_id: the blog.
        parts: writes frequent parts.
        lists: the pages among :data:`OPTIONAL_LISTS` that the site has.
        policy: the content that the pages may load and run.
    """

    def __init__(
        self, options: SiteOptions, blog_id: str, parts: Parts, lists: Collection[str] = (), policy: str = POLICY
    ) -> None:
        self._environment = _environment()
        hidden = OPTIONAL_LISTS.difference(lists)
        t = translator(options.language)
        self._frame = cache(self._made_frame)
        self.shell = cache(self._made_shell)
        """Returns the frame shared by all pages in one folder (``root``) and one place in the navigation."""
        name = visible(options.title or blog_id)[0]
        self._common: dict[str, Any] = {
            "t": t,
            "language": options.language,
            "kind_names": {kind.value: translated(name, options.language) for kind, name in KIND_NAMES.items()},
            "dates": parts.dates,
            "site_title": name,
            "site_name": name if options.title else Markup(".<wbr>").join(name.split(".")),  # an address breaks at dots
            "blog_id": blog_id,
            "content_lang": CONTENT_LANGUAGE,
            "parts": parts,
            "public": options.public,
            "has_history": "history" not in hidden,
            "policy": policy,
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
        return visible(self._environment.get_template(template).render(values, frame=frame))[0].encode()

    def frame_script(self) -> bytes:
        """Return the script that gives the history's frame to pages from the past, which have no frame."""
        frame = self._frame("../", "history")
        return script("blogFrame", frame["top"], frame["end"])

    def _made_shell(self, root: str, current: str) -> Shell:
        values = {"title": _CUT, "root": root, "current": current, **self._common}
        text = self._environment.from_string(_SHELL).render(values, frame=self._frame(root, current))
        return Shell(*text.split(_CUT))

    def _made_frame(self, root: str, current: str) -> dict[str, Markup]:
        values = {"root": root, "current": current, **self._common}
        return {
            part: Markup(self._environment.get_template(f"{part}.html").render(values))  # noqa: S704  a template
            for part in ("head", "top", "end")
        }


def render_alone(template: str, language: str, values: dict[str, Any]) -> str:
    """Return a page without a site's frame, because it belongs to no blog."""
    return _environment().get_template(template).render({"t": translator(language), "language": language, **values})


def data_script(kind: str, name: str, value: Any) -> bytes:
    """Return a classic script that hands ``value`` to the site's own: ``blogData("kind", "name", value)``.

    If a page was opened from a folder, only scripts load. ``<`` is escaped, so that no text can end a script
    or open a comment, and so are the line ends that JSON allows and old scripts do not.
    """
    return script("blogData", kind, name, value)


def script(function: str, *values: Any) -> bytes:
    """Return a classic script that calls a function of the site's own with values."""
    texts = [lossless_json.dumps(value) for value in values]
    for found, escaped in _ESCAPED:
        texts = [text.replace(found, escaped) for text in texts]
    return b"%b(%b);\n" % (function.encode("ascii"), b",".join(texts))


def framing_policy(source: str) -> str:
    """Return the policy of a page that may also show frames from a source."""
    return f"{POLICY}; frame-src {source}"


def root_of(path: str) -> str:
    """Return the way from a page to the site's folder: empty, or ``../``."""
    return "../" * path.count("/")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["number"] = "{:,}".format
    return made
