"""What a site has thousands of: comments, lines of lists, badges, written by functions in a tenth of a template's time.

Every value is escaped here as templates do it; only what :mod:`exporter.html.page_body` made is HTML already.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from exporter.html.links import commenter_link
from exporter.site.catalogue import PostSummary, one_line
from exporter.site.words import LANGUAGES, Dates

if TYPE_CHECKING:
    from exporter.model.records import Comment

CONTENT_LANGUAGE: Final = "ja"
"""Of what the blog's people wrote, a BCP 47 tag."""
_NAME_KEPT: Final = 200


def escaped(text: str) -> str:
    """Return a text as HTML and its attributes hold it, in the same bytes as templates write."""
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;").replace('"', "&#34;")
    )


class Parts:
    """Writes the parts in one language, and times in one zone.

    Attributes:
        words: of the interface by name, escaped.
        dates: writes dates.
    """

    def __init__(self, language: str, zone: tzinfo = UTC) -> None:
        self.words = {name: escaped(word) for name, word in LANGUAGES[language].items()}
        self.dates = Dates(language, zone)

    def title(self, post: PostSummary) -> str:
        """Return what an entry is called."""
        return escaped(post.title) or self.words["untitled"]

    def badges(self, post: PostSummary) -> Markup:
        """Return the marks of an entry that is private, of another access, or gone."""
        words = self.words
        found = ""
        if post.private:
            found += f'<span class="badge private" title="{words["private_tip"]}">{words["private"]}</span>'
        if post.access:
            found += f'<span class="badge">{words["access"] % escaped(post.access)}</span>'
        if post.gone_in:
            found += f'<span class="badge gone">{words["gone_word"]}</span>'
        return Markup(found)  # noqa: S704  escaped above

    def line(self, post: PostSummary, root: str) -> Markup:
        """Return an entry's line in a list; ``root`` is the way from the page to the site's folder."""
        day = f'<time datetime="{post.date:%Y-%m-%d}">{self.dates.day(post.date)}</time>' if post.date else ""
        number = post.comments
        talk = f'<span class="talk">{self.words["n_comments"] % number}</span>' if number else ""
        return Markup(  # noqa: S704  escaped above
            f'<li class="line" data-item>\n{day}<a href="{root}{post.page}" lang="{CONTENT_LANGUAGE}">'
            f"{self.title(post)}</a>\n{self.badges(post)}\n{talk}</li>\n"
        )

    def comment(self, comment: Comment, text: Markup, *, own: bool = False) -> Markup:
        """Return a comment; ``text`` is its body as HTML, ``own`` whether it has the owner's name."""
        words, language = self.words, f' lang="{CONTENT_LANGUAGE}"'
        name = escaped(one_line(comment.name)[:_NAME_KEPT]) or words["nameless"]
        title = escaped(one_line(comment.title)[:_NAME_KEPT])
        reply = escaped(self.dates.local(one_line(comment.reply or "")))
        link = commenter_link(comment.url)
        parts = [f'<p class="by"><bdi class="who"{language}>{name}</bdi>\n']
        if link is not None:
            address = escaped(link)
            parts.append(
                f'<a class="home" href="{address}" rel="noopener noreferrer">↗<span class="unseen">{address}</span></a>'
            )
        if own:
            parts.append(f'<span class="badge own" title="{words["own_tip"]}">{words["own"]}</span>')
        if comment.date is not None:
            parts.append(f'<time datetime="{comment.date:%Y-%m-%d}">{self.dates.day(comment.date)}</time>')
        if comment.deleted:
            parts.append(f'<span class="badge">{words["hidden_flag"]}</span>')
        parts.append("</p>\n")
        if title:
            parts.append(f'<p class="subject"{language}>{title}</p>')
        parts.append(f'<div class="body"{language}>{text}</div>\n')
        if reply:
            parts.append(f'<p class="faint">{words["replied"] % reply}</p>')
        return Markup("".join(parts))  # noqa: S704  escaped above
