"""The frame of a page in one file: it looks like the site's pages, and loads and runs nothing. Pure."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

from exporter.translation import translator


@cache
def site_style() -> str:
    """Return the style sheet of the site, the only source of colours and fonts."""
    return files("exporter").joinpath("site/static/site.css").read_text("utf-8")


@cache
def page_policy(style: str) -> str:
    """Return the policy for a page in one file: it may only show this style and its own pictures."""
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; style-src-attr 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def page_start(title: str, site_title: str, language: str = "ja") -> str:
    """Return a page's beginning, with the blog's name at the top; the caller adds the text and :func:`page_end`.

    Args:
        title: of the page, any text.
        site_title: the blog's name, any text.
        language: of the page.
    """
    style = site_style()
    named = escape(title if title == site_title else f"{title} – {site_title}")
    return f"""<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{page_policy(style)}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{named}</title>
<style>{style}</style>
</head>
<body>
<header class="top">
<div class="bar">
<p class="site-name"><bdi>{escape(site_title)}</bdi></p>
</div>
</header>
<main>
"""


def page_end(language: str = "ja") -> str:
    """Return the end of such a page."""
    said = translator(language)("Saved with blog-exporter")
    return f"""</main>
<footer class="end"><p>{said}</p></footer>
</body>
</html>
"""


def message_page(title: str, text: str, language: str, link: tuple[str, str] | None = None) -> str:
    """Return a page with nothing but a message.

    Args:
        title: the message in one line, any text.
        text: what else is said, any text; may be empty.
        language: of the page.
        link: an address and its name, below the message.
    """
    parts = [
        page_start(title, "blog-exporter", language),
        f'<header class="title"><h1>{escape(title)}</h1></header>\n',
        f"<p>{escape(text)}</p>\n" if text else "",
        f'<p><a href="{escape(link[0])}">{escape(link[1])}</a></p>\n' if link is not None else "",
        "</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)
