"""The server from outside: its responses, its access rules, and that it leaves the archive unchanged."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import re
import shutil
import socket
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from exporter.archive.archive import Archive
from exporter.archive.safe_files import InnerPath
from exporter.errors import UsageError
from exporter.model.kinds import Kind
from exporter.serve.app import Server
from exporter.serve.listening import Place
from exporter.settings import Settings
from exporter.site import thumbnails
from tests.archive.builder import Built, record
from tests.serve.serving import Served, served
from tests.site.building import build, demo_archive, stored
from tests.support.in_process import InProcess


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("serve") / "demo"
    demo_archive(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thumbnails, "Worker", InProcess)
        build(Built.reopen(root), title="潮だまり日記")
    return root


@pytest.fixture(scope="session")
def demo(made: Path) -> Iterator[Served]:
    with served(made) as running:
        yield running


def picture(archive: Path) -> Path:
    return min((archive / "assets").rglob("*.png"), key=lambda path: path.stat().st_size)


class TestTheSite:
    def test_the_address_shows_the_first_page(self, demo: Served) -> None:
        answer = demo.get()
        assert answer.status == 302
        page = demo.get(answer.headers["Location"])
        assert page.status == 200
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "潮だまり日記" in page.text

    def test_pages_find_their_pictures(self, demo: Served, made: Path) -> None:
        found = picture(made)
        answer = demo.get(found.relative_to(made).as_posix())
        assert answer.body == found.read_bytes()
        assert answer.headers["Content-Type"] == "image/png"
        assert "sandbox" in answer.headers["Content-Security-Policy"]

    def test_every_answer_has_a_policy(self, demo: Served) -> None:
        for path in (
            "",
            "latest/site/index.html",
            "latest/site/none.html",
            "api",
            "/",
            "latest/site/search.html?q=海"[:26],
        ):
            headers = demo.get(path).headers
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert headers["Server"] == "blog-exporter"
            assert "Access-Control-Allow-Origin" not in headers

    def test_parts_of_a_file(self, demo: Served, made: Path) -> None:
        found = picture(made)
        path, data = found.relative_to(made).as_posix(), found.read_bytes()

        def part(asked: str, **more: str) -> tuple[int, str | None, bytes]:
            answer = demo.get(path, Range=asked, **more)
            return answer.status, answer.headers["Content-Range"], answer.body

        size = len(data)
        assert part("bytes=0-9") == (206, f"bytes 0-9/{size}", data[:10])
        assert part("bytes=10-") == (206, f"bytes 10-{size - 1}/{size}", data[10:])
        assert part("bytes=-5") == (206, f"bytes {size - 5}-{size - 1}/{size}", data[-5:])
        assert part(f"bytes=0-{size * 2}") == (206, f"bytes 0-{size - 1}/{size}", data)
        assert part(f"bytes={size}-") == (416, f"bytes */{size}", b"")
        assert part("Bytes= 0-9") == (206, f"bytes 0-9/{size}", data[:10])
        assert part(f"bytes=-{'9' * 5000}") == (206, f"bytes 0-{size - 1}/{size}", data)
        assert part(f"bytes=0-{'9' * 5000}") == (206, f"bytes 0-{size - 1}/{size}", data)
        for asked in ("bytes=-0", f"bytes={'9' * 5000}-", f"bytes={size * 2}-{size * 3}"):
            assert part(asked) == (416, f"bytes */{size}", b"")
        for asked in ("bytes=0-1,5-6", "lines=1-2", "bytes=5-2", "bytes=-", "bytes=--5", "bytes=1", ""):
            assert part(asked) == (200, None, data)
        assert part("bytes=0-9", If_Range='"another"') == (200, None, data)
        assert part("bytes=0-9", If_Range=demo.get(path, "HEAD").headers["ETag"])[0] == 206
        assert demo.get(path, "HEAD", Range="bytes=0-9").headers["Content-Length"] == str(size)
        head = demo.get(path, "HEAD")
        assert (head.status, head.headers["Content-Length"], head.body) == (200, str(size), b"")
        assert demo.get(path, If_None_Match=head.headers["ETag"]).status == 304


class TestWhoIsAnswered:
    def test_no_client_without_the_secret(self, demo: Served) -> None:
        for path in ("/", "/latest/site/index.html", "/api", "/secre/api", "/secrets/api"):
            assert demo.get(path).status == 404

    def test_no_client_with_a_foreign_host_name(self, demo: Served) -> None:
        for host in ("evil.example", "evil.example:80", ""):
            assert demo.get("api", Host=host).status == 403
        assert demo.get("api", Host="localhost:99").status == 200

    def test_no_page_of_another_site(self, demo: Served) -> None:
        script = "latest/site/data/words.js"
        assert demo.get(script, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
        assert demo.get(script, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors").status == 403
        assert demo.get(script, Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="no-cors").status == 200
        assert demo.get("api", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200

    def test_no_client_that_tries_to_write(self, demo: Served) -> None:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"):
            answer = demo.get("api", method)
            assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")

    def test_all_clients_on_this_machine_if_it_is_open(self, made: Path) -> None:
        with served(made, Place()) as running:
            assert running.get("/").headers["Location"] == "/latest/site/index.html"
            assert running.get("/api").status == 200
            assert running.get("/api", Host="evil.example").status == 403


class TestMessages:
    def test_a_browser_gets_a_page_in_the_site_s_design(self, demo: Served, made: Path) -> None:
        answer = demo.get("latest/site/none.html", Accept="text/html,*/*")
        assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        style = answer.text.partition("<style>")[2].partition("</style>")[0]
        assert style == (made / "latest" / "site" / "static" / "site.css").read_text("utf-8")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert "<h1>Not found.</h1>" in answer.text
        assert 'href="/secret/latest/site/index.html"' in answer.text
        assert demo.get("latest/site/none.html").text == "Not found.\n"

    def test_a_page_without_the_secret_tells_nothing_about_the_blog(self, demo: Served) -> None:
        for path, host in (("/", "localhost"), ("/api", "localhost"), ("/secret/api", "evil.example")):
            page = demo.get(path, Accept="text/html", Host=host).text
            assert "<h1>" in page
            assert "<a " not in page
            assert "secret/" not in page

    def test_a_page_keeps_the_headers_of_its_answer(self, demo: Served) -> None:
        answer = demo.get("api", "POST", Accept="text/html")
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
        assert "Only reading is allowed." in answer.text


class TestWhatIsNotServed:
    @pytest.mark.parametrize(
        "path",
        [
            "archive.json", "versions/000001/entries.jsonl", "latest/entries.jsonl", ".work/lock", "latest/site", "latest",
            "latest/site/../entries.jsonl", "latest/site/..%2fentries.jsonl", "latest/site/%2e%2e/entries.jsonl",
            "latest/site/..%5centries.jsonl", "assets/../archive.json", "assets/ab/../../archive.json",
            "latest/site//index.html", "latest/site/.hidden", "latest/site/a%00b", "latest/site/%ff", "assets/zz/zz.png",
            "latest/site/index.html/", "latest/site/entry", "//etc/passwd", "latest/site/" + "a" * 300, "~root",
        ],
    )  # fmt: skip
    def test_nothing_outside_of_the_site_and_the_pictures(self, demo: Served, path: str) -> None:
        assert demo.get(path).status == (302 if path == "latest/site" else 404)

    def test_nothing_through_a_link_and_no_damaged_picture(self, made: Path, tmp_path: Path) -> None:
        root = tmp_path / "a"
        shutil.copytree(made, root)
        (tmp_path / "secret.html").write_text("secret")
        site = root / "latest" / "site"
        (site / "linked.html").symlink_to(tmp_path / "secret.html")
        (site / "folder").symlink_to(tmp_path)
        os.mkfifo(site / "pipe.html")
        damaged = picture(root)
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
        with served(root) as running:
            for path in ("linked.html", "folder/secret.html", "pipe.html"):
                assert running.get(f"latest/site/{path}").status == 404
            answer = running.get(damaged.relative_to(root).as_posix())
            assert answer.status == 500
            assert "verify --repair" in answer.text

    def test_a_stored_file_with_active_content_is_downloaded_and_not_shown(self, made: Path, tmp_path: Path) -> None:
        root = tmp_path / "a"
        shutil.copytree(made, root)
        asset = stored(root, "https://x.example/a.html", b"<script>1</script>", refs=[], content_type="text/html")
        with served(root) as running:
            answer = running.get(str(asset.path))
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "application/octet-stream"
            assert answer.headers["Content-Disposition"].startswith("attachment")


class TestTrouble:
    """Malicious requests and failures: the server continues, and never reveals the secret."""

    @staticmethod
    def connected(running: Served) -> socket.socket:
        return socket.create_connection(("127.0.0.1", urlsplit(running.address).port or 0), timeout=30)

    @pytest.mark.parametrize(
        "request_line",
        ["GET /secret/{} HTTP/1.1".format("a" * 10_000), "get /secret/api HTTP/1.1", "GET /secret/api HTTP/1.1", "\x16\x03"],
    )  # fmt: skip
    def test_an_invalid_request_is_refused_and_not_logged(
        self, demo: Served, request_line: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with self.connected(demo) as connection:
            connection.sendall(request_line.encode() + b"\r\n\r\n")
            assert b" 400 Bad Request" in connection.makefile("rb").read()
        assert demo.get("api").status == 200
        assert caplog.records == []

    def test_with_too_many_connections_the_oldest_is_closed(self, demo: Served) -> None:
        crowd = [self.connected(demo) for _ in range(250)]
        assert demo.get("api").status == 200
        assert crowd[0].recv(1) == b""
        for each in crowd:
            each.close()

    def test_a_file_that_becomes_shorter_ends_the_connection(self, made: Path, tmp_path: Path) -> None:
        root = tmp_path / "a"
        shutil.copytree(made, root)
        large = root / "latest" / "site" / "large.bin"
        large.write_bytes(b"x" * (60 << 20))
        with served(root) as running, self.connected(running) as connection:
            connection.sendall(b"GET /secret/latest/site/large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.recv(100)
            os.truncate(large, 1000)
            size = 0
            try:
                while piece := connection.recv(1 << 20):
                    size += len(piece)
            except ConnectionResetError:
                pass
            assert size < 60 << 20
            assert running.get("api").status == 200

    def test_a_removed_archive(self, made: Path, tmp_path: Path) -> None:
        root = tmp_path / "a"
        shutil.copytree(made, root)
        with served(root) as running:
            root.rename(tmp_path / "b")
            assert running.get("api").json["error"]["type"] == "NoArchive"
            answer = running.get("latest/site/search.html?q=a")
            assert (answer.status, "archive.json" in answer.text) == (500, True)
            assert running.get("latest/site/index.html").status == 404
            (tmp_path / "b").rename(root)
            assert running.get("latest/site/search.html?q=a").status == 200

    def test_an_unexpected_error_is_reported_on_the_server_and_other_requests_are_answered(
        self, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        said: list[str] = []
        with served(made, warn=said.append) as running:
            next(tmp_path.glob("blog-exporter-serve-*")).rmdir()
            answer = running.get("api/search?q=a")
            assert (answer.status, str(tmp_path) in answer.text) == (500, False)
            assert running.get("api").status == 200
        assert [line.partition(": [")[0] for line in said] == ["a request failed: FileNotFoundError"]

    def test_its_end_waits_for_no_search_and_leaves_no_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        built = Built(tmp_path / "a")
        entries = {str(at): record(entry_id=str(at), title="一", entry_text="x" * 500) for at in range(1, 2000)}
        built.commit({Kind.ENTRIES: entries})
        (built.layout.latest / "site").mkdir(parents=True)
        (built.layout.latest / "site" / "index.html").write_text("")
        with served(built.root) as running:
            asked = threading.Thread(target=self.search_in_vain, args=(running,))
            asked.start()
            while not list(tmp_path.glob("blog-exporter-serve-*/*")):
                pass
        assert list(tmp_path.glob("blog-exporter-*")) == []
        asked.join()

    @staticmethod
    def search_in_vain(running: Served) -> None:
        with contextlib.suppress(OSError):
            running.get("api/search?q=x")


class TestSearch:
    def test_the_page_shows_current_and_removed_records(self, demo: Served) -> None:
        page = demo.get("latest/site/search.html?q=%E3%81%A6%E3%81%84%E3%81%BE%E3%81%9B%E3%82%93").text
        now, past = page.split('<section id="earlier">')
        assert 'href="entry/36.html?q=' in now
        assert re.search(r'href="entry/50\.html\?q=[^"]*#comment-195"', now)
        assert "<mark>ていません</mark>" in past
        assert 'href="history/entry-50-v1.html"' in past

    def test_it_shows_any_query_escaped(self, demo: Served) -> None:
        answer = demo.get("latest/site/search.html?q=%22%3Cscript%3E")
        assert (answer.status, "&#34;&lt;script&gt;" in answer.text) == (200, True)
        assert "<script>" not in answer.text.split("<main")[1]
        assert demo.get("latest/site/search.html").status == 200
        assert demo.get("latest/site/search.html?q=%22%22").status == 400
        assert demo.get("latest/site/search.html?q=x&limit=x").status == 400
        assert (
            "q=%E3%81%AE&amp;sort=best&amp;limit=40" in demo.get("latest/site/search.html?q=%E3%81%AE&sort=best").text
        )

    def test_nothing_was_found_only_if_nothing_is_shown(self, demo: Served) -> None:
        nothing = "見つかりませんでした"
        assert nothing in demo.get("latest/site/search.html?q=zzzz").text
        similar = demo.get(f"latest/site/search.html?q={quote('ぱん')}").text
        assert (nothing in similar, "似た表記も 10\u00a0件" in similar, similar.count("<li data-item>")) == (
            False,
            True,
            10,
        )
        narrowed = demo.get(f"latest/site/search.html?q={quote('海')}&year=1999").text
        assert (nothing in narrowed, "0\u00a0件" in narrowed) == (False, True)

    def test_a_lone_quotation_mark_is_searched(self, demo: Served) -> None:
        page = demo.get("latest/site/search.html?q=%22").text
        assert "4\u00a0件" in page
        assert page.count("<mark>&#34;</mark>") > 4

    def test_facets_narrow_by_address(self, demo: Served) -> None:
        page = demo.get(f"latest/site/search.html?q={quote('海')}&year=2016&category={quote('=散歩')}").text
        assert '<option value="2016" selected>2016 (' in page
        assert '<option value="=散歩" selected>散歩 (' in page
        dates = re.findall(r'<time datetime="(\d{4})', page)
        assert dates
        assert set(dates) == {"2016"}
        same = demo.get(f"latest/site/search.html?q={quote('海')}&year=2016&category={quote('散歩')}").text
        assert same.count("<li data-item>") == len(dates)

    def test_an_entry_that_is_gone_is_a_hit_with_its_comments(self, demo: Served) -> None:
        page = demo.get(f"latest/site/search.html?q={quote('暑い 涼しい')}").text
        assert re.search(r'href="entry/66\.html\?q=[^"]*">.*?<span class="badge gone">', page, re.DOTALL)
        assert 'id="earlier"' not in page

    def test_words_may_be_in_an_entry_and_in_its_comments(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "a")
        built.commit({
            Kind.ENTRIES: {"1": record(entry_id="1", title="一", entry_text="海へ"), "2": record(entry_id="2", title="海")},
            Kind.COMMENTS: {"5": record(cm_id="5", entry_id="1", name="kazu", cm_text="山も")},
        })  # fmt: skip
        build(built)
        with served(built.root) as running:
            page = running.get(f"latest/site/search.html?q={quote('海 山')}").text
        assert page.count("<li data-item>") == 1
        assert "<mark>海</mark>へ" in page
        assert 'class="who"' in page

    def test_the_api(self, demo: Served) -> None:
        found = demo.search("していません")
        assert found["version"] == 3
        assert [hit["id"] for hit in found["past"]["hits"]] == ["50"]
        assert found["past"]["hits"][0]["version"] == 1
        assert demo.search("していません", "&kind=file")["past"]["found"] == 0
        gone = demo.search("暑い 涼しい")["past"]["hits"]
        assert [(hit["id"], hit["gone"]) for hit in gone] == [("66", True)]
        assert demo.search("ﾓﾅｶ")["similar_found"] > 3
        assert demo.search("")["error"]["type"] == "UsageError"
        assert demo.search("x" * 2000)["error"]["exit_code"] == 2
        assert demo.get("api/search?q=a&limit=x").status == 400

    def test_a_removed_comment_and_one_without_an_entry(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "a")
        built.commit({
            Kind.ENTRIES: {"1": record(entry_id="1", title="一", entry_text="x")},
            Kind.COMMENTS: {
                "5": record(cm_id="5", entry_id="1", name="kazu", cm_text="むかしの声"),
                "6": record(cm_id="6", entry_id="9", name="kazu", cm_text="ひとりの声"),
            },
        })  # fmt: skip
        built.commit({Kind.COMMENTS: {"5": record(cm_id="5", entry_id="1", name="kazu", cm_text="いまのことば")}})
        build(built)
        with served(built.root) as running:
            hits = running.search("声")
            assert [hit["id"] for hit in hits["hits"]] == ["6"]
            assert [(hit["kind"], hit["id"]) for hit in hits["past"]["hits"]] == [("comment", "5")]
            page = running.get("latest/site/search.html?q=%E5%A3%B0").text
            assert 'href="comments/orphans.html?q=%E5%A3%B0#comment-6"' in page


class TestRecords:
    def test_the_api(self, demo: Served) -> None:
        about = demo.get("api").json
        assert about["records"]["entries"] == demo.get("api/entries").json["total"]
        page = demo.get("api/entries?offset=2&limit=3").json
        assert [each["id"] for each in page["entries"]] == ["5", "8", "9"]
        assert page["entries"][2]["title"] == "丘の一本桜"
        assert [each["version"] for each in demo.get("api/versions").json["versions"]] == [1, 2, 3]
        now, then = demo.get("api/records/entry/50").json, demo.get("api/records/entry/50?at=1").json
        assert (now["version"], then["version"]) == (2, 1)
        assert "していません" in then["data"]["entry_text"]
        assert demo.get("api/records/comment/195").json["data"]["entry_id"] == "50"

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            ("api/records/entry/99999", 404), ("api/records/thing/1", 400), ("api/records/entry/50?at=99", 404),
            ("api/records", 400), ("api/nothing", 404), ("api/versions/1", 404), ("api/entries?limit=501", 400),
            ("api/entries?offset=-1", 400),
        ],
    )  # fmt: skip
    def test_missing_records(self, demo: Served, path: str, status: int) -> None:
        answer = demo.get(path)
        assert answer.status == status
        assert set(answer.json["error"]) == {"type", "message", "exit_code"}


class TestTheArchive:
    def test_it_is_never_changed(self, made: Path, tmp_path: Path) -> None:
        root = tmp_path / "a"
        shutil.copytree(made, root)

        def state() -> dict[Path, int]:
            return {path: path.lstat().st_mtime_ns for path in root.rglob("*") if path.name != ".work"}

        shutil.rmtree(root / ".work")
        (root / ".work").mkdir()
        before = state()
        with served(root) as running:
            assert running.search("海")["found"] > 1
            for path in ("latest/site/index.html", "api", "api/entries", "api/versions", "api/records/entry/50"):
                assert running.get(path).status == 200
        (root / ".work" / "versions.json").unlink()  # the stored list of versions
        assert state() == before
        assert list((root / ".work").iterdir()) == []

    def test_a_backup_may_run_meanwhile(self, made: Path, tmp_path: Path) -> None:
        root = tmp_path / "a"
        shutil.copytree(made, root)
        with Archive.open(root).lock(), served(root) as running:
            assert running.search("海")["found"] > 1

    def test_a_version_that_is_committed_meanwhile_is_served(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "a")
        built.commit({Kind.ENTRIES: {"1": record(entry_id="1", title="一", entry_text="はじめ")}})
        build(built)
        with served(built.root) as running:
            assert running.search("はじめ")["found"] == 1
            built.commit({Kind.ENTRIES: {"1": record(entry_id="1", title="一", entry_text="つぎ")}})
            build(built)
            found = running.search("はじめ")
            assert (found["version"], found["found"], found["past"]["found"]) == (2, 0, 1)
            assert "つぎ" in running.get("latest/site/entry/1.html").text
        with served(built.root, at=1) as running:
            assert running.search("はじめ")["found"] == 1
            assert "はじめ" in running.get("latest/site/entry/1.html").text
            assert running.get("api/records/entry/1").json["version"] == 1

    def test_an_older_version_has_its_pictures(self, made: Path) -> None:
        with served(made, at=3) as running:
            page = running.get("latest/site/index.html").text
            source = page.split('class="pictured"')[1].split('src="')[1].split('"')[0]
            picture = running.get(f"latest/site/{source}" if "../" not in source else source.replace("../", ""))
            assert (picture.status, picture.headers["Content-Type"][:6]) == (200, "image/")

    def test_an_archive_without_a_site_is_served(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "a")
        built.commit({Kind.ENTRIES: {"1": record(entry_id="1", title="一", entry_text="はじめ")}})
        with served(built.root) as running:
            assert "はじめ" in running.get("latest/site/entry/1.html").text
        assert not (built.layout.latest / "site").exists()

    @pytest.mark.parametrize("name", ["index.html", "."])
    def test_an_archive_with_a_link_to_its_site_is_served(self, made: Path, tmp_path: Path, name: str) -> None:
        root = tmp_path / "a"
        shutil.copytree(made, root)
        linked = root / "latest" / "site" / name
        linked.rename(tmp_path / "elsewhere")
        linked.symlink_to(tmp_path / "elsewhere")
        with served(root) as running:
            answer = running.get("latest/site/index.html")
            assert (answer.status, "data-root" in answer.text) == (200, True)


async def test_a_port_in_use_is_reported(made: Path) -> None:
    site = InnerPath.rooted(made / "latest" / "site")
    async with Server(made, site, Settings(), Place()).listening() as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        with pytest.raises(UsageError, match=rf"Cannot listen at 127\.0\.0\.1, port {port}: Address already in use\."):
            async with Server(made, site, Settings(), Place(port=port)).listening():
                pass
        with pytest.raises(UsageError, match=r"Cannot listen at no host: .*\. Name another"):
            async with Server(made, site, Settings(), Place("no host")).listening():
                pass
        with pytest.raises(UsageError, match=r"Cannot listen at a{70}: .*\. Name another"):
            async with Server(made, site, Settings(), Place("a" * 70)).listening():
                pass


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost"])
async def test_the_address_can_be_opened_for_every_listening_address(made: Path, host: str) -> None:
    site = InnerPath.rooted(made / "latest" / "site")
    async with Server(made, site, Settings(), Place(host)).listening() as address:
        assert await asyncio.to_thread(lambda: urllib.request.urlopen(f"{address}api", timeout=30).status) == 200
