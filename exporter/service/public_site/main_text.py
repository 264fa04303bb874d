"""Find the post on a page in no known form: the text after the heading that the page's title names. Pure.

Themes name their elements as they like, but a post begins with its title, and menus, side bars and comments have names
that say so. The search begins at the heading and widens until half of the text after it is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from exporter.html.selection import PageElement, html_without
from exporter.html.text import plain_text

_HEADINGS: Final = "h1, h2, h3, h4, h5, [class*=title], [class*=Title]"
_MAX_HEADINGS: Final = 200
_MAX_DEPTH: Final = 30
_SEPARATORS: Final = re.compile(r"\s+[-|–—:：｜»«›·/]+\s+|\s*[|｜»«]\s*")
_LEAST_SHARE: Final = 0.5
"""The share of the text after a heading that its post has at least."""
_DATE_CHARACTERS: Final = 80
"""The most characters of a line with the date of a post."""
_LEVELS_OF_DATE: Final = 3
_NEAR_ELEMENTS: Final = 40
"""The most elements at the beginning of a part in which the date is sought."""
_NO_TEXT: Final = frozenset({"script", "style", "noscript", "nav", "aside", "footer", "form", "template", "button"})
_WORDS: Final = (
    r"(?:share|sharing|sns|social|related|comments?|respond|responses?|reply|replies|side|sidebar|widgets?|menu"
    r"|navi?|gnav|navigation|pager|pagination|prev|next|footer|foot|breadcrumbs?|topicpath|profile|ads?|advertisement|ranking"
    r"|banner|copyright|trackbacks?|recent|archives?|tag-?cloud|toolbar|pankuzu)"
)
"""Names of elements around a post."""
_AROUND: Final = re.compile(rf"(?:^|[\s_-]){_WORDS}(?:$|[\s_-])", re.IGNORECASE)
_SURELY_AROUND: Final = re.compile(rf"(?:^|\s){_WORDS}(?:$|\s)", re.IGNORECASE)


class MainText(NamedTuple):
    """The post after a heading.

    Attributes:
        title: the text of the heading.
        date: a short line with a date around the heading, or an empty text.
        html: the content after the heading, without the date.
    """

    title: str
    date: str
    html: str


def title_heading(root: PageElement, title: str) -> PageElement | None:
    """Return the heading whose text is a page's title, or the part of it that is not the blog's name."""
    wanted = {title, *filter(None, _SEPARATORS.split(title))}
    found = [each for each in root.select(_HEADINGS)[:_MAX_HEADINGS] if (text := each.text()) and text in wanted]
    if not found:
        return None
    longest = max(len(each.text()) for each in found)
    exact = [each for each in found if not _leads_home(each)] or found
    return next((each for each in exact if len(each.text()) == longest), exact[-1])


def main_text(heading: PageElement, has_date: Callable[[str], bool]) -> MainText | None:
    """Return the post that begins with a heading; ``None`` if no text follows it."""
    levels = [heading, *islice(heading.ancestors(), _MAX_DEPTH)]
    levels = [each for each in levels if each.tag not in {"body", "html", "-document"}]
    date = date_near(heading, has_date)
    parts: list[str] = []
    lengths: list[int] = []
    for level in levels:
        html = "".join(each.html for each in level.following() if each.tag not in _NO_TEXT)
        cleaned = _without_surroundings(html, date)
        parts.append(cleaned)
        lengths.append(len(plain_text(cleaned)) + 40 * cleaned.count("<img"))
    total = sum(lengths)
    if not total:
        return None
    reached = 0
    for count, length in enumerate(lengths, 1):
        reached += length
        if reached >= total * _LEAST_SHARE:
            return MainText(heading.text(), date, "\n".join(filter(None, map(str.strip, parts[:count]))))
    return None


def date_near(heading: PageElement, has_date: Callable[[str], bool]) -> str:
    """Return the short line with a date that is nearest to a heading, or an empty text."""
    for level in islice((heading, *heading.ancestors()), _LEVELS_OF_DATE):
        if level.tag in {"body", "html", "-document"}:
            break
        for element in (*level.following(), *level.preceding()):
            for line in islice(_lines(element), _NEAR_ELEMENTS):
                if len(line) <= _DATE_CHARACTERS and has_date(line):
                    return line
    return ""


def _lines(element: PageElement) -> Iterator[str]:
    """Yield the texts in an element and its descendants, without surroundings."""
    if _is_around(element):
        return
    for each in (element, *element.select("*")):
        if each == element or (not _is_around(each) and each.tag not in {"li", "a"}):
            yield _date_line(each)


def _date_line(element: PageElement) -> str:
    return element.attribute("datetime") or element.text()


def _is_around(element: PageElement) -> bool:
    if element.tag in _NO_TEXT:
        return True
    return bool(_AROUND.search(_names(element)))


def _names(element: PageElement) -> str:
    return f"{element.attribute('class')} {element.attribute('id')}"


def _without_surroundings(html: str, date: str) -> str:
    """Return HTML without menus, side bars, comments and the line with the date."""

    def unwanted(page: PageElement) -> Iterator[PageElement]:
        elements = page.select("*")
        half = len(page.text()) // 2
        for each in filter(_is_around, elements):
            # A name such as "comments-open" may also be that of the post.
            if each.tag in _NO_TEXT or _SURELY_AROUND.search(_names(each)) or len(each.text()) < half:
                yield each
        yield from islice((each for each in elements[:_NEAR_ELEMENTS] if date and _date_line(each) == date), 1)

    return html_without(html, unwanted)


def _leads_home(heading: PageElement) -> bool:
    link = heading.first("a[href]")
    return (
        link is not None
        and re.fullmatch(r"(?:https?://[^/]+)?/?|\.{0,2}/?(?:index\.\w+)?", link.attribute("href")) is not None
    )
