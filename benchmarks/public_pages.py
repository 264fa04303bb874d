"""A public blog in a separate process: pages of 30 KB with a style sheet, a script and pictures, for captures.

``python -m benchmarks.public_pages 2000`` prints its address and serves until its standard input ends. The home page
links to lists, the lists link to the posts, and each post shows its own picture. Every address is also in the
sitemap. Server and content cost little: pages are filled templates, and nothing is read from a disk.
"""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from zlib import crc32

from benchmarks.content import body
from benchmarks.service import Connection

_PER_LIST = 50
_PAGE_BYTES = 30_000
_PICTURE_BYTES = 20_000
_TEMPLATES = 20
_LETTERS = [chr(code) for code in (*range(0x3041, 0x3094), *range(0x4E00, 0x4E00 + 900, 3))]
_HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Thu, 01 Oct 2026 00:00:00 GMT\r\nContent-Type: %b\r\n"
    b'Last-Modified: Wed, 30 Sep 2026 00:00:00 GMT\r\nETag: "%x"\r\nCache-Control: max-age=600\r\n'
    b"Content-Length: %d\r\nConnection: keep-alive\r\n\r\n"
)
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nnot found"
_HTML, _CSS, _SCRIPT = b"text/html; charset=utf-8", b"text/css", b"text/javascript"


def addresses(posts: int) -> Iterator[str]:
    """Yield the paths that a crawler finds by links: pages, pictures, the style sheet with its picture, the script."""
    yield "/"
    yield from ("/style.css", "/site.js", "/back.jpg")
    yield from (f"/list/{number}.html" for number in range(1, lists(posts) + 1))
    for number in range(1, posts + 1):
        yield f"/entry/{number}.html"
        yield f"/photo/{number}.jpg"


def lists(posts: int) -> int:
    """Return the number of list pages."""
    return -(-posts // _PER_LIST)


class PublicPages:
    """The answers of the blog.

    Args:
        posts: the number of posts.
        origin: the blog's origin, for the sitemap.
    """

    def __init__(self, posts: int, origin: str) -> None:
        self._posts = posts
        self._origin = origin
        chance = random.Random(1)
        self._templates = [self._template(chance) for _ in range(_TEMPLATES)]
        self._filling = chance.randbytes(_PICTURE_BYTES)

    def respond(self, head: bytes) -> bytes:
        """Return the whole answer to a request."""
        path = head.split(b" ", 2)[1].decode("ascii")
        found = self._found(path)
        if found is None:
            return _NOT_FOUND
        kind, content = found
        return _HEAD % (kind, crc32(path.encode()), len(content)) + content

    def _found(self, path: str) -> tuple[bytes, bytes] | None:
        folder, _, name = path[1:].rpartition("/")
        number = int(digits) if (digits := name.partition(".")[0]).isdigit() else 0
        if folder == "entry" and 1 <= number <= self._posts:
            return _HTML, self._templates[number % _TEMPLATES] % {
                b"number": number, b"before": max(1, number - 1), b"after": min(self._posts, number + 1),
            }  # fmt: skip
        if folder == "photo" and 1 <= number <= self._posts:
            return b"image/jpeg", b"\xff\xd8\xff\xe0%012d" % number + self._filling
        if folder == "list" and 1 <= number <= lists(self._posts):
            first = (number - 1) * _PER_LIST + 1
            return _HTML, _page(f"/entry/{each}.html" for each in range(first, min(first + _PER_LIST, self._posts + 1)))
        if path == "/":
            return _HTML, _page(f"/list/{each}.html" for each in range(1, lists(self._posts) + 1))
        if path == "/sitemap.xml":
            return b"application/xml", self._sitemap()
        own = {
            "/style.css": (_CSS, b"body { background: url(back.jpg); }\n" * 300),
            "/site.js": (_SCRIPT, b"var visits = (window.visits || 0) + 1;\n" * 300),
            "/back.jpg": (b"image/jpeg", b"\xff\xd8\xff\xe0back" + self._filling),
        }
        return own.get(path)

    def _template(self, chance: random.Random) -> bytes:
        links = "".join(f'<li><a href="/list/{each}.html">{each}</a></li>' for each in range(1, 13))
        texts: list[str] = []
        while sum(len(text.encode()) for text in texts) < _PAGE_BYTES - 4_000:
            texts += [_without_addresses(body(chance)), _paragraph(chance)]
        text = "".join(texts).replace("%", "%%")
        page = _frame(
            f"<h1>Entry %(number)d</h1>{text}<p><img src='/photo/%(number)d.jpg' alt='' width='640' height='480'></p>"
            "<p><a href='/entry/%(before)d.html'>before</a> <a href='/entry/%(after)d.html'>after</a></p>"
            f"<ul>{links}</ul>"
        )
        return page.encode()

    def _sitemap(self) -> bytes:
        pages = (each for each in addresses(self._posts) if each.endswith((".html", "/")))
        listed = "".join(f"<url><loc>{self._origin}{each}</loc></url>" for each in pages)
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'.encode()


def _paragraph(chance: random.Random) -> str:
    """Return made-up words, since pages of few sentences would compress better than real ones."""
    words = ("".join(chance.choices(_LETTERS, k=chance.randint(2, 6))) for _ in range(120))
    return f"<p>{'、'.join(words)}。</p>"


def _without_addresses(text: str) -> str:
    """Return the text of an entry without links and pictures, so that a crawler stays on this blog."""
    return text.replace("<img ", "<i ").replace("<a ", "<b ").replace("</a>", "</b>")


def _page(links: Iterator[str]) -> bytes:
    return _frame("".join(f'<p><a href="{each}">{each}</a></p>' for each in links)).encode()


def _frame(text: str) -> str:
    return (
        "<!DOCTYPE html><html lang='ja'><head><meta charset='utf-8'><title>Blog</title>"
        "<link rel='stylesheet' href='/style.css'><script src='/site.js'></script></head>"
        f"<body><p><a href='/'>Blog</a></p>{text}</body></html>"
    )


async def _serve(posts: int, latency: float) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
    pages = PublicPages(posts, origin)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(pages.respond, latency), sock=listening)
    async with server:
        print(origin, flush=True)
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Serve until standard input ends."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("posts", type=int)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    asyncio.run(_serve(options.posts, options.latency))


if __name__ == "__main__":
    main()
