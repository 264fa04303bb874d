"""Elements that occur thousands of times in a site: comments, list lines and badges.

Functions write them in a tenth of a template's time.

Every value is escaped here as templates do it; only what :mod:`exporter.html.page_body` made is HTML already.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from exporter.clock import at_home
from exporter.html.links import commenter_link
from exporter.message import message, message_in_context
from exporter.model.kinds import Kind
from exporter.site.catalogue import PostSummary, one_line
from exporter.translation import translator

if TYPE_CHECKING:
    from exporter.model.records import Comment

CONTENT_LANGUAGE: Final = "ja"
"""The language of the blog's own texts, a BCP 47 tag."""
KIND_NAMES: Final = {
    Kind.ENTRIES: message("Entries"),
    Kind.ENTRY_LIST: message("List items"),
    Kind.COMMENTS: message("Comments"),
    Kind.FILES: message("Files"),
    Kind.USER: message("User"),
    Kind.ASSETS: message_in_context("site", "Pictures and files"),
}
_NAME_KEPT: Final = 200


def escaped(text: str) -> str:
    """Return a text as HTML and its attributes hold it, in the same bytes as templates write."""
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;").replace('"', "&#34;")
    )


_WEEKDAYS = "月火水木金土日"
_MONTHS = ("January", "February", "March", "April", "May", "June", "July",
           "August", "September", "October", "November", "December")  # fmt: skip


class Dates:
    """Writes dates in one language; the archive's own times are in UTC and are shown in ``zone``."""

    def __init__(self, language: str, zone: tzinfo = UTC) -> None:
        self._japanese = language == "ja"
        self._zone = zone

    def day(self, date: datetime | None) -> str:
        """Return a day in the form of the language; empty for ``None``."""
        if date is None:
            return ""
        if self._japanese:
            return f"{date.year}年{date.month}月{date.day}日（{_WEEKDAYS[date.weekday()]}）"
        return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"

    def day_of_year(self, date: datetime) -> str:
        """Return a day without its year."""
        return f"{date.month}月{date.day}日" if self._japanese else f"{date.day} {_MONTHS[date.month - 1]}"

    def month_of(self, date: datetime) -> str:
        """Return a month with its year."""
        return f"{date.year}年{date.month}月" if self._japanese else f"{_MONTHS[date.month - 1]} {date.year}"

    def minute(self, date: datetime | None) -> str:
        """Return a day with the time; empty for ``None``."""
        return "" if date is None else f"{self.day(date)} {date:%H:%M}"

    def written(self, written: str) -> str:
        """Return a time from the archive, such as the end of a version; an invalid one is returned unchanged."""
        return self.minute(at_home(written, self._zone)) or written

    def local(self, written: str) -> str:
        """Return a time from the service, in the blog's own clock; an invalid one is returned unchanged."""
        try:
            return self.minute(datetime.fromisoformat(written))
        except ValueError:
            return written

    def year(self, year: str) -> str:
        """Return a year's name."""
        return f"{year}年" if self._japanese else year

    def month(self, month: int) -> str:
        """Return a month's name, 1 to 12."""
        return f"{month}月" if self._japanese else _MONTHS[month - 1]


class Parts:
    """Writes the parts in one language, and times in one zone.

    Attributes:
        dates: writes dates.
    """

    def __init__(self, language: str, zone: tzinfo = UTC) -> None:
        self._translated = translator(language)
        self.dates = Dates(language, zone)

    def t(self, text: str, context: str = "", /, **values: object) -> str:
        """Return an interface sentence in the site's language, escaped."""
        return escaped(self._translated(text, context, **values))

    def title(self, post: PostSummary) -> str:
        """Return an entry's displayed title."""
        return escaped(post.title) or self.t("(untitled)")

    def badges(self, post: PostSummary) -> Markup:
        """Return the badges for an entry that is private, restricted or gone."""
        found = ""
        if post.private:
            tip = self.t("Only its writer could read this entry")
            found += f'<span class="badge private" title="{tip}">{self.t("Private")}</span>'
        if post.access:
            found += f'<span class="badge">{self.t("Visibility code {code}", code=post.access)}</span>'
        if post.gone_in:
            found += f'<span class="badge gone">{self.t("gone")}</span>'
        return Markup(found)  # noqa: S704  escaped above

    def line(self, post: PostSummary, root: str) -> Markup:
        """Return an entry's line in a list; ``root`` is the way from the page to the site's folder."""
        day = f'<time datetime="{post.date:%Y-%m-%d}">{self.dates.day(post.date)}</time>' if post.date else ""
        number = post.comments
        talk = f'<span class="talk">{self.t("Comments: {n}", n=number)}</span>' if number else ""
        return Markup(  # noqa: S704  escaped above
            f'<li class="line" data-item>\n{day}<a href="{root}{post.page}" lang="{CONTENT_LANGUAGE}">'
            f"{self.title(post)}</a>\n{self.badges(post)}\n{talk}</li>\n"
        )

    def comment(self, comment: Comment, text: Markup, *, own: bool = False) -> Markup:
        """Return a comment; ``text`` is its body as HTML, ``own`` whether it has the owner's name."""
        language = f' lang="{CONTENT_LANGUAGE}"'
        name = escaped(one_line(comment.name)[:_NAME_KEPT]) or self.t("(no name)")
        title = escaped(one_line(comment.title)[:_NAME_KEPT])
        reply = self.dates.local(one_line(comment.reply or ""))
        link = commenter_link(comment.url)
        parts = [f'<p class="by"><bdi class="who"{language}>{name}</bdi>\n']
        if link is not None:
            address = escaped(link)
            parts.append(
                f'<a class="home" href="{address}" rel="noopener noreferrer">↗<span class="unseen">{address}</span></a>'
            )
        if own:
            tip = self.t("The name of the user whose backup this is")
            parts.append(f'<span class="badge own" title="{tip}">{self.t("author")}</span>')
        if comment.date is not None:
            parts.append(f'<time datetime="{comment.date:%Y-%m-%d}">{self.dates.day(comment.date)}</time>')
        if comment.deleted:
            parts.append(f'<span class="badge">{self.t("Flagged t")}</span>')
        parts.append("</p>\n")
        if title:
            parts.append(f'<p class="subject"{language}>{title}</p>')
        parts.append(f'<div class="body"{language}>{text}</div>\n')
        if reply:
            parts.append(f'<p class="faint">{self.t("Answered {when}", when=reply)}</p>')
        return Markup("".join(parts))  # noqa: S704  escaped above
