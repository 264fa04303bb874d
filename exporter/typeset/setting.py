"""The child's side of typesetting: WeasyPrint lays out a book and writes it as a PDF.

WeasyPrint is an extra and loads native libraries, so it is imported only here and only in the child process. Its
fetcher serves only the book's own pictures and refuses every other address.

The body is laid out first. The page of each entry is then known, so that the contents can be laid out with it. Both
become one file.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.typeset.fonts import Proof, proof
from exporter.typeset.justification import justify_japanese
from exporter.typeset.pictures import scale_pictures
from exporter.typeset.upright import FAMILY, GROUPS, Turned
from exporter.typeset.vertical import on_their_side, upright_fonts

if TYPE_CHECKING:
    from collections.abc import Iterable

Answer = tuple[str, str, dict[str, int]]
"""A failure and its detail, both empty after success; the number of characters without a glyph, by article."""

_PICTURE: Final = re.compile(r"file:///book/media/([0-9A-Za-z._-]+)")
_SHOWN: Final = re.compile(r'<img src="media/([0-9A-Za-z._-]+)"')
_ARTICLE: Final = re.compile(r'<article id="([^"]+)"')
_ELSEWHERE: Final = re.compile(r'<a href="#([^" ]+) ([^"]*)"')
_PAGE_NUMBER: Final = re.compile(r'<b class="page" data-of="([^"]+)"></b>')
_CHINESE_DIGITS: Final = dict(zip(map(ord, "0123456789"), "〇一二三四五六七八九", strict=True))
_GETA: Final = "〓"
"""What Japanese printers put in the place of a letter that they do not have."""


def check() -> Answer:
    """Return whether WeasyPrint can be imported."""
    try:
        import weasyprint  # noqa: F401, PLC0415 - an extra, and not light
    except ImportError as error:
        return "library", str(error), {}
    except OSError as error:
        return "native", str(error).partition("\n")[0][:200], {}
    logging.getLogger("weasyprint").propagate = False
    return "", "", {}


def set_book(folder: str, out: str, identifier: str, vertical: bool) -> Answer:
    """Set the files of a folder as a PDF; arguments as for :meth:`exporter.typeset.press.Press.set`."""
    from weasyprint import HTML  # noqa: PLC0415
    from weasyprint.text.fonts import FontConfiguration  # noqa: PLC0415

    place = Path(folder)
    justify_japanese()
    plates = scale_pictures(place / "media", turned=vertical)
    texts = {name: _with_plates((place / f"{name}.html").read_text("utf-8"), plates) for name in ("body", "front")}
    fonts = FontConfiguration()
    fetcher = _fetcher(place)
    styles = [_style(place, fonts, fetcher)]

    def laid_out(html: str) -> Any:
        page = HTML(string=html, base_url="file:///book/", url_fetcher=fetcher)
        return page.render(font_config=fonts, stylesheets=styles, cache={})

    if vertical:
        made = upright_fonts("".join([*texts.values(), *_CHINESE_DIGITS.values()]), laid_out)
        if made.failure:
            return made.failure, made.detail, {}
        styles.insert(0, _font_style(place, made.fonts, fonts, fetcher))
        texts = {name: on_their_side(text, made.fonts) for name, text in texts.items()}
    found = proof("".join([*texts.values(), *(_CHINESE_DIGITS.values() if vertical else ())]), laid_out)
    if found.failure:
        return found.failure, found.detail, {}
    missing = _count_missing(texts["body"], found)
    texts = {name: _with_geta(text, found) for name, text in texts.items()}
    body = laid_out(_with_live_links(texts["body"]))
    numbers: dict[str, int] = {}
    for number, page in enumerate(body.pages, 1):
        for name in page.anchors:
            numbers.setdefault(name, number)

    def number_of(found: re.Match[str]) -> str:
        number = str(numbers.get(found[1], ""))
        return f'<b class="page">{number.translate(_CHINESE_DIGITS) if vertical else number}</b>'

    front = laid_out(_PAGE_NUMBER.sub(number_of, texts["front"]))
    pages = [*front.pages]
    if len(pages) % 2:
        pages += laid_out('<body style="page: quiet"><p></p></body>').pages[:1]
    before = len(pages)
    pages += body.pages

    def finish(_document: Any, pdf: Any) -> None:
        _number_pages(pdf, before, vertical=vertical)

    front.copy(pages).write_pdf(out, finisher=finish, pdf_identifier=identifier.encode())
    return "", "", missing


def _style(place: Path, fonts: Any, fetcher: Any, rules: str = "") -> Any:
    from weasyprint import CSS  # noqa: PLC0415

    return CSS(
        string=rules or (place / "style.css").read_text("utf-8"),
        base_url="file:///book/",
        font_config=fonts,
        url_fetcher=fetcher,
    )


def _font_style(place: Path, made: Iterable[Turned], fonts: Any, fetcher: Any) -> Any:
    """Write fonts to files, and return the style sheet that names them."""
    rules = ""
    for each in made:
        for family, content in ((FAMILY, each.content), (GROUPS, each.groups)):
            name = f"media/{family}-{each.weight}.otf"
            (place / name).write_bytes(content)
            rules += f"@font-face {{ font-family: {family}; font-weight: {each.weight}; src: url({name}); }}"
    return _style(place, fonts, fetcher, rules)


def _fetcher(place: Path) -> Any:
    from weasyprint.urls import URLFetcher, URLFetcherResponse  # noqa: PLC0415

    class BookFetcher(URLFetcher):  # type: ignore[misc]  # it has no types
        """Serves the pictures of the book, and refuses every other address."""

        def fetch(self, url: str, headers: object = None) -> Any:  # noqa: ARG002 - WeasyPrint gives it
            found = _PICTURE.fullmatch(url)
            if found is None:
                raise ValueError(f"refused: {url[:100]}")
            path = place / "media" / found[1]
            return URLFetcherResponse(url, path.read_bytes())

    return BookFetcher()


def _with_plates(html: str, plates: set[str]) -> str:
    """Return a page in which each picture that is too large for a line of text is marked."""
    return _SHOWN.sub(lambda found: f'{found[0]} class="plate"' if found[1] in plates else found[0], html)


def _count_missing(body: str, found: Proof) -> dict[str, int]:
    """Return how many characters in each article have no glyph."""
    if not found.missing:
        return {}
    counts: Counter[str] = Counter()
    _, *rest = _ARTICLE.split(body)
    for name, article in zip(rest[::2], rest[1::2], strict=True):
        counts[name] = sum(map(article.count, found.missing))
    return dict(+counts)


def _with_geta(html: str, found: Proof) -> str:
    if not found.missing:
        return html
    mark = "?" if _GETA in found.missing else _GETA
    return html.translate(dict.fromkeys(map(ord, found.missing), mark))


def _with_live_links(body: str) -> str:
    """Return the body with links to what this volume lacks changed into links to the web, or into text."""
    there = set(re.findall(r' id="([^"]+)"', body))

    def link(found: re.Match[str]) -> str:
        if found[1] in there:
            return f'<a href="#{found[1]}"'
        return f'<a href="{found[2]}"' if found[2] else "<a"

    return _ELSEWHERE.sub(link, body)


def _number_pages(pdf: Any, before: int, *, vertical: bool) -> None:
    """Name the pages before the body with Roman numerals, and let the book open like a printed one."""
    import pydyf  # noqa: PLC0415 - comes with WeasyPrint

    labels = [0, pydyf.Dictionary({"S": "/r"}), before, pydyf.Dictionary({"S": "/D"})]
    pdf.catalog["PageLabels"] = pydyf.Dictionary({"Nums": pydyf.Array(labels)})
    if vertical:
        for each in pdf.objects:
            if isinstance(each, pydyf.Dictionary) and each.get("Type") == "/Page":
                each["Rotate"] = 90
    pdf.catalog["PageLayout"] = "/TwoPageRight"
    viewing = {"DisplayDocTitle": "true", **({"Direction": "/R2L"} if vertical else {})}
    pdf.catalog["ViewerPreferences"] = pydyf.Dictionary(viewing)
