"""Captured pages over real sockets: what the replay sends, and what it never sends."""

from __future__ import annotations

import gzip
import http.client
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

import brotli
import pytest

from exporter.archive.captures import captures
from exporter.archive.layout import Layout
from exporter.html.replay_page import MAX_CHARACTERS
from exporter.model.kinds import Kind
from exporter.serve.listening import Place
from exporter.serve.replayed import MAX_PAGE_BYTES
from tests.archive.builder import Built, record
from tests.serve.serving import Answer, Served, served
from tests.site.building import build
from tests.support.captures import captured
from tests.support.wire_server import Asked, Reply, WireServer

FIRST = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 3, 4, 5, tzinfo=UTC)
HTML = ("Content-Type", "text/html; charset=utf-8")


@dataclass
class Pages:
    """A server with answers by path."""

    answers: dict[str, Reply] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = WireServer(self.respond)

    @property
    def origin(self) -> str:
        return self.server.origin

    def respond(self, asked: Asked) -> Reply:
        return self.answers.get(asked.path, Reply(404, b"<h1>nothing here</h1>", (HTML,)))

    def page(self, path: str, body: str | bytes, *headers: tuple[str, str], status: int = 200) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.answers[path] = Reply(status, data, headers or (HTML,))


@dataclass
class Replay:
    """A served archive, seen through its replay: ``root`` is where the captured pages are."""

    served: Served
    root: str
    origin: str

    def get(self, path: str, destination: str = "iframe", stamp: str = "20260102030405", **headers: str) -> Answer:
        """Request a captured address; a path is of the captured server."""
        address = path if "://" in path else self.origin + path
        return self.raw(f"{urlsplit(self.root).path}{stamp}/{address}", Sec_Fetch_Dest=destination, **headers)

    def raw(self, path: str, method: str = "GET", **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", urlsplit(self.root).port or 0, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.putrequest(method, path, skip_host="Host" in named)
            for name, value in named.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def place(self, path: str, stamp: str = "20260102030405") -> str:
        """Return how a replayed page names a captured address."""
        return f"{urlsplit(self.root).path}{stamp}/{self.origin}{path}"


def outer_page(running: Served, address: str, more: str = "") -> Answer:
    return running.get(f"latest/site/capture.html?url={quote(address, safe='')}{more}")


def root_of(page: Answer) -> str:
    found = re.search(r"frame-src (http://[^ ;]+)", page.headers["Content-Security-Policy"])
    assert found is not None
    return found[1]


def archive(root: Path) -> Built:
    built = Built(root)
    built.commit({Kind.ENTRIES: {"1": record(entry_id="1", title="一")}})
    build(built, title="潮だまり日記")
    return built


@contextmanager
def replaying(root: Path, pages: Pages, place: Place = Place(token="secret")) -> Iterator[Replay]:  # noqa: B008
    with served(root, place) as running:
        yield Replay(running, root_of(running.get("latest/site/capture.html")), pages.origin)


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Pages]:
    made = Pages()
    with made.server.serving_in_thread():
        yield made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return archive(tmp_path / "archive").root


class TestPages:
    def test_all_addresses_lead_into_the_replay(self, root: Path, pages: Pages) -> None:
        pages.page(
            "/a/b.html",
            '<!DOCTYPE html><head><base href="/base/"><link rel="stylesheet" href="s.css" integrity="sha256-x">'
            "<style>@import 'i.css'; p { background: url(bg.png) }</style></head><p style='background: url(\"q.png\")'>"
            '<a href="next.html?x=1&amp;y=2#part" target="_top" onclick="x()">次</a><img src="p.png" '
            'srcset="p.png 1x, /q.png 2x"><img class="lazy" src="data:image/gif;base64,R0" data-src="lazy.png">'
            '<a href="javascript:alert(1)">j</a><a href="#here">here</a><noscript><img src="n.png"></noscript>'
            '<script src="x.js"></script><script>alert("<a href=x>")</script><a href="//other.example/x">o</a>',
        )
        captured(root, pages, ["/a/b.html"], moment=FIRST)
        with replaying(root, pages) as replay:
            answer = replay.get("/a/b.html")
            text = answer.text
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
            for part in ("s.css", "i.css", "bg.png", "p.png", "lazy.png", "n.png", "next.html?x=1&amp;y=2#part"):
                assert replay.place(f"/base/{part}") in text, part
            assert f'{urlsplit(replay.root).path}20260102030405/http://other.example/x"' in text
            assert text.startswith("<!DOCTYPE html><head><base>")
            assert 'href="#here">here' in text
            for gone in ("javascript:", "onclick", "target", "integrity", "x.js", "alert"):
                assert gone not in text

    def test_style_sheets(self, root: Path, pages: Pages) -> None:
        sheet = '@charset "shift_jis"; @import url("b.css"); a { content: \'ソ\'; background: url( ../x.png ) }'
        pages.page("/css/a.css", sheet.encode("cp932"), ("Content-Type", "text/css"))
        captured(root, pages, ["/css/a.css"], moment=FIRST)
        with replaying(root, pages) as replay:
            answer = replay.get("/css/a.css", "style")
            assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
            assert replay.place("/css/b.css") in answer.text
            assert replay.place("/x.png") in answer.text
            assert "'ソ'" in answer.text

    @pytest.mark.parametrize(
        ("label", "codec", "sent"),
        [
            ("EUC-JP", "euc_jp", "euc-jp"), ("Shift_JIS", "cp932", "shift_jis"), ("ISO-2022-JP", "iso2022_jp", "utf-8"),
            ("UTF-8", "utf-8", "utf-8"),
        ],
    )  # fmt: skip
    def test_a_page_keeps_its_text_in_its_encoding(
        self, root: Path, pages: Pages, label: str, codec: str, sent: str
    ) -> None:
        text = f'<meta charset="{label}"><title>表ソ能一覧</title><p title="表示">ソ連の表、能力 & 予定 &hearts;</p>'
        pages.page("/j.html", (text + '<a href="検索.html?q=表">表</a>').encode(codec), ("Content-Type", "text/html"))
        captured(root, pages, ["/j.html"], moment=FIRST)
        with replaying(root, pages) as replay:
            answer = replay.get("/j.html")
            assert answer.headers["Content-Type"] == f"text/html; charset={sent}"
            shown = answer.body.decode(codec if sent != "utf-8" else "utf-8")
            assert shown.startswith(text)
            assert f"{replay.place('/')}%E6%A4%9C%E7%B4%A2.html?q=%" in shown

    def test_the_nearest_time_is_shown(self, root: Path, pages: Pages) -> None:
        pages.page("/p.html", "first")
        captured(root, pages, ["/p.html"], moment=FIRST)
        pages.page("/p.html", "second")
        captured(root, pages, ["/p.html"], moment=LATER)
        with replaying(root, pages) as replay:
            for stamp, shown in (
                ("20250101000000", "first"),
                ("20260110000000", "first"),
                ("20270101000000", "second"),
            ):
                assert replay.get("/p.html", stamp=stamp).text == shown

    def test_coded_bodies_and_revisits(self, root: Path, pages: Pages) -> None:
        for name, packed in (("gzip", gzip.compress(b"<p>text")), ("br", brotli.compress(b"<p>text"))):
            pages.page(f"/{name}", packed, HTML, ("Content-Encoding", name))
            pages.page(f"/again-{name}", packed, HTML, ("Content-Encoding", name))
        made = captured(root, pages, ["/gzip", "/br", "/again-gzip", "/again-br"], moment=FIRST)
        assert made.index.read_bytes(10**6).count(b"warc/revisit") == 2
        with replaying(root, pages) as replay:
            for name in ("gzip", "br", "again-gzip", "again-br"):
                assert replay.get(f"/{name}").text == "<p>text"

    def test_redirects_stay_inside(self, root: Path, pages: Pages) -> None:
        pages.page("/old", "", ("Location", "/new/"), status=301)
        pages.page("/new/", "here")
        pages.page("/out", "", ("Location", "https://elsewhere.example/x?y=1"), status=302)
        pages.page("/loop", "", ("Location", "/loop/"), status=301)
        captured(root, pages, ["/old", "/new/", "/out", "/loop"], moment=FIRST)
        with replaying(root, pages) as replay:
            assert replay.get("/old").headers["Location"] == replay.place("/new/")
            elsewhere = replay.get("/out")
            assert elsewhere.status == 302
            assert elsewhere.headers["Location"].startswith(urlsplit(replay.root).path)
            assert replay.get("https://elsewhere.example/x?y=1").status == 404
            assert replay.get("/loop").status == 404

    def test_parts_of_a_video(self, root: Path, pages: Pages) -> None:
        data = bytes(range(256)) * 4000
        pages.page("/v.mp4", data, ("Content-Type", "video/mp4"))
        captured(root, pages, ["/v.mp4"], moment=FIRST)
        with replaying(root, pages) as replay:
            part = replay.get("/v.mp4", "video", Range="bytes=1000-1999")
            assert (part.status, part.body) == (206, data[1000:2000])
            assert part.headers["Content-Range"] == f"bytes 1000-1999/{len(data)}"
            assert replay.get("/v.mp4", "video").body == data

    def test_an_error_page_of_the_blog_is_its_own(self, root: Path, pages: Pages) -> None:
        captured(root, pages, ["/missing"], moment=FIRST)
        with replaying(root, pages) as replay:
            answer = replay.get("/missing")
            assert (answer.status, answer.text) == (404, "<h1>nothing here</h1>")

    def test_what_was_not_captured_is_said_and_never_requested(self, root: Path, pages: Pages) -> None:
        pages.page("/p.html", "x")
        captured(root, pages, ["/p.html"], moment=FIRST)
        asked = pages.server.asked.total()
        with replaying(root, pages) as replay:
            answer = replay.get("/<b>other")
            assert answer.status == 404
            assert 'data-note="missing"' in answer.text
            assert "<b>other" not in answer.text
            assert replay.get("/other.png", "image").headers["Content-Type"].startswith("text/plain")
            outer = outer_page(replay.served, f"{pages.origin}/<b>other")
            assert outer.status == 404
            assert "<iframe" not in outer.text
            assert "<b>other" not in outer.text
        assert pages.server.asked.total() == asked


class TestItsOrigin:
    def test_it_is_not_that_of_the_archive(self, root: Path, pages: Pages) -> None:
        captured(root, pages, ["/p.html"], moment=FIRST)
        with replaying(root, pages) as replay:
            assert urlsplit(replay.root).port != urlsplit(replay.served.address).port
            assert "secret" not in replay.root
            token = urlsplit(replay.root).path.strip("/")
            assert len(token) > 20
            for path in ("/", "/secret/latest/site/index.html", f"/{token}/latest/site/index.html", f"/{token}/api"):
                assert replay.raw(path).status == 404
            assert replay.served.get(f"/{token}/20260102030405/{pages.origin}/p.html").status == 404

    def test_every_answer_forbids_scripts_and_the_network(self, root: Path, pages: Pages) -> None:
        pages.page("/p.html", "x", HTML, ("Set-Cookie", "a=b"), ("Service-Worker-Allowed", "/"), ("Refresh", "0;url=//x"),
                   ("Link", "<https://out.example/x.css>; rel=stylesheet"), ("Content-Security-Policy", "sandbox allow-scripts"),
                   ("Access-Control-Allow-Origin", "*"), ("X-Content-Type-Options", "none"))  # fmt: skip
        pages.page("/s.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", ("Content-Type", "image/svg+xml"))  # fmt: skip
        captured(root, pages, ["/p.html", "/s.svg", "/missing"], moment=FIRST)
        with replaying(root, pages) as replay:
            for path in ("/p.html", "/s.svg", "/missing", "/never"):
                for destination in ("iframe", "image", "document"):
                    headers = replay.get(path, destination).headers
                    policy = headers.get_all("Content-Security-Policy")
                    assert policy is not None
                    assert len(policy) == 1
                    assert policy[0].startswith("sandbox; default-src 'none'; ")
                    sources = set(re.findall(r"https?:[^ ;]*|'unsafe[^ ;]*|allow-[a-z-]*", policy[0]))
                    assert sources == {replay.root, "'unsafe-inline'"}
                    assert headers["X-Content-Type-Options"] == "nosniff"
                    assert headers["Referrer-Policy"] == "no-referrer"
                    for name in (
                        "Set-Cookie",
                        "Service-Worker-Allowed",
                        "Refresh",
                        "Link",
                        "Access-Control-Allow-Origin",
                    ):
                        assert name not in headers

    def test_only_its_own_pages_may_use_its_fonts(self, root: Path, pages: Pages) -> None:
        pages.page("/f.ttf", b"font", ("Content-Type", "font/ttf"))
        captured(root, pages, ["/f.ttf"], moment=FIRST)
        with replaying(root, pages) as replay:
            assert replay.get("/f.ttf", "font", Origin="null").headers["Access-Control-Allow-Origin"] == "null"
            assert "Access-Control-Allow-Origin" not in replay.get("/f.ttf", "font", Origin="https://x.example").headers

    def test_foreign_names_methods_and_scripts_are_refused(self, root: Path, pages: Pages) -> None:
        pages.page("/p.html", "x")
        captured(root, pages, ["/p.html"], moment=FIRST)
        with replaying(root, pages) as replay:
            path = replay.place("/p.html")
            assert replay.raw(path, Host="evil.example").status == 403
            assert replay.raw(path, Host="127.0.0.1:1; script-src *").status == 200
            policy = replay.raw(path, Host="127.0.0.1:1; script-src *").headers["Content-Security-Policy"]
            assert "script-src" not in policy
            assert replay.raw(path, "POST").status == 405
            assert replay.get("/p.html", "script").status == 404
            assert replay.get("/p.html", "serviceworker").status == 404
            assert replay.raw(path, Service_Worker="script").status == 404
            for bad in ("x", "20269999999999", "2026010203040"):
                assert replay.get("/p.html", stamp=bad).status == 404

    def test_it_has_a_secret_of_its_own_even_if_the_site_has_none(self, root: Path, pages: Pages) -> None:
        captured(root, pages, ["/p.html"], moment=FIRST)
        with replaying(root, pages, Place()) as replay:
            assert len(urlsplit(replay.root).path) > 20


class TestHostileRecords:
    def test_bombs_and_broken_codings(self, root: Path, pages: Pages) -> None:
        zeros = b"<p>" + b"\0" * (MAX_PAGE_BYTES + 1)
        pages.page("/gzip", gzip.compress(zeros), HTML, ("Content-Encoding", "gzip"))
        pages.page("/br", brotli.compress(zeros, quality=1), HTML, ("Content-Encoding", "br"))
        pages.page("/broken", b"no gzip", HTML, ("Content-Encoding", "gzip"))
        pages.page("/strange", b"x", HTML, ("Content-Encoding", "rot13"))
        pages.page("/long", f'<base href="/{"x" * 3000}/">' + "<a href=a>" * (MAX_CHARACTERS // 3000 + 1))
        paths = ["/gzip", "/br", "/broken", "/strange", "/long"]
        captured(root, pages, paths, moment=FIRST)
        with replaying(root, pages) as replay:
            for path in paths:
                answer = replay.get(path)
                assert (answer.status, 'data-note="problem"' in answer.text) == (500, True), path
                assert replay.get(path, "image").status in {200, 500}

    def test_a_damaged_record(self, root: Path, pages: Pages) -> None:
        pages.page("/p.html", "x" * 1000)
        made = captured(root, pages, ["/p.html", "/missing"], moment=FIRST)
        with replaying(root, pages) as replay:
            (path,) = Path(str(made.folder)).glob("*.warc.gz")
            data = bytearray(path.read_bytes())
            first = data.index(b"\x1f\x8b", 20)
            data[first + 60 : first + 80] = bytes(20)
            path.write_bytes(data)
            answer = replay.get("/p.html")
            assert answer.status == 500
            assert "verify" in answer.text.lower() or "検証" in answer.text
            path.unlink()
            assert replay.get("/p.html").status == 500
            assert captures(Layout(root))

    def test_content_under_a_wrong_type(self, root: Path, pages: Pages) -> None:
        png = b"\x89PNG\r\n\x1a\n" + bytes(20)
        pages.page("/p", png, ("Content-Type", "text/html"))
        pages.page("/h", "<html><p>page", ("Content-Type", "image/png"))
        pages.page("/n", "<!-- x --><html><a href=/y>page", ("X-Nothing", "1"))
        pages.page("/c", "a { background: url(/y) }", ("Content-Type", "text/plain"))
        pages.page("/e", "x", ("Content-Type", "text/html\x01; x=<script>"))
        captured(root, pages, ["/p", "/h", "/n", "/c"], moment=FIRST)
        with replaying(root, pages) as replay:
            assert replay.get("/p", "image").headers["Content-Type"] == "image/png"
            assert replay.get("/h").headers["Content-Type"] == "image/png"
            assert replay.place("/y") in replay.get("/n").text
            assert replay.get("/c", "style").headers["Content-Type"] == "text/css; charset=utf-8"
            assert replay.get("/c").headers["Content-Type"] == "text/plain"

    def test_xml_is_text_or_a_picture(self, root: Path, pages: Pages) -> None:
        style = "<?xml version='1.0'?><?xml-stylesheet href='/x.xsl' type='text/xsl'?>"
        pages.page("/feed", f"{style}<rss>あ</rss>", ("Content-Type", "application/rss+xml; charset=utf-8"))
        picture = f"{style}<svg xmlns='http://www.w3.org/2000/svg'><a href='/y'>あ</a><script>1</script></svg>"
        pages.page("/p.svg", picture, ("Content-Type", "image/svg+xml"))
        captured(root, pages, ["/feed", "/p.svg"], moment=FIRST)
        with replaying(root, pages) as replay:
            assert replay.get("/feed").headers["Content-Type"] == "text/plain; charset=utf-8"
            answer = replay.get("/p.svg")
            assert answer.headers["Content-Type"] == "image/svg+xml; charset=utf-8"
            assert "xml-stylesheet" not in answer.text
            assert f'<a href="{replay.place("/y")}">あ</a><script></script>' in answer.text


@contextmanager
def before_a_taken_port() -> Iterator[int]:
    """Yield a port that is free, while the next one is not."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1] - 1
            try:
                socket.create_server(("127.0.0.1", port)).close()
            except OSError:
                continue
            yield port
            return


class TestThePageAround:
    def test_it_shows_the_date_other_dates_and_the_way_back(self, root: Path, pages: Pages) -> None:
        pages.page("/p.html?a=1&b=<2>", "first")
        captured(root, pages, ["/p.html?a=1&b=<2>"], moment=FIRST)
        pages.page("/p.html?a=1&b=<2>", "second")
        captured(root, pages, ["/p.html?a=1&b=<2>"], moment=LATER)
        with served(root) as running:
            answer = outer_page(running, f"{pages.origin}/p.html?a=1&b=<2>", "&at=20260110000000&entry=1")
            assert answer.status == 200
            assert "2026年1月2日" in answer.text
            assert 'href="entry/1.html"' in answer.text
            frame = re.search(r'<iframe class="replay" sandbox referrerpolicy="no-referrer" src="([^"]*)"', answer.text)
            assert frame is not None
            assert frame[1].startswith(root_of(answer))
            assert frame[1].endswith("/20260102030405/" + f"{pages.origin}/p.html?a=1&amp;b=&lt;2&gt;")
            assert answer.text.count("&amp;at=2026") == 2
            assert running.get("latest/site/static/replay.css").headers["Content-Type"].startswith("text/css")

    def test_the_list_of_captures(self, root: Path, pages: Pages) -> None:
        captured(root, pages, ["/"], moment=FIRST)
        with served(root) as running:
            answer = running.get("latest/site/capture.html")
            assert answer.status == 200
            assert f"url={quote(pages.origin + '/', safe='')}" in answer.text

    def test_an_archive_without_captures(self, root: Path) -> None:
        with served(root) as running:
            assert running.get("latest/site/capture.html").status == 200
            assert outer_page(running, "https://x.example/").status == 404

    def test_the_next_port_is_the_replay_unless_it_is_taken(self, root: Path, pages: Pages) -> None:
        captured(root, pages, ["/"], moment=FIRST)
        with before_a_taken_port() as port, served(root, Place("127.0.0.1", port, "secret")) as running:
            found = root_of(running.get("latest/site/capture.html"))
            assert urlsplit(found).port not in {port, port + 1}
