"""The demo's site: every link has a target, nothing is loaded from elsewhere, and only changes are written again."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from exporter import lossless_json
from exporter.archive.history import version_rows
from exporter.html.tree import Element, parse
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import search_data
from exporter.site.templating import POLICY
from tests.archive.builder import Built, record
from tests.site.building import build, of_records


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def elements(path: Path) -> list[Element]:
    # The fragment parser drops html, head and body and keeps what is in them.
    tree = parse(path.read_text("utf-8"))
    return [node for node in tree.walk() if isinstance(node, Element)]


class TestEveryPage:
    def test_there_are_all_kinds_of_pages(self, site: Path) -> None:
        names = {path.relative_to(site).as_posix() for path in pages(site)}
        assert {"index.html", "years.html", "categories.html", "comments.html", "gallery.html"} <= names
        assert {"statistics.html", "history.html", "about.html", "search.html", "comments/orphans.html"} <= names
        assert {"history/version-2.html", "history/entry-50-v1.html", "history/entry-66.html", "entry/50.html"} <= names

    def test_links_lead_to_files(self, site: Path) -> None:
        seen = 0
        for path in pages(site):
            for element in elements(path):
                for name in ("href", "src", "action"):
                    target = element.attributes.get(name, "")
                    if not target or urlsplit(target).scheme or target.startswith("#"):
                        continue
                    assert not target.startswith(("/", "\\")), (path, target)
                    assert (path.parent / unquote(urlsplit(target).path)).resolve().is_file(), (path, target)
                    seen += 1
        assert seen > 2_000

    def test_anchors_exist(self, site: Path) -> None:
        ids = {path: {each.attributes.get("id") for each in elements(path)} for path in pages(site)}
        for path in ids:
            for element in elements(path):
                target = element.attributes.get("href", "")
                if "#" in target and not urlsplit(target).scheme and not target.startswith("#c-"):
                    place = (path.parent / unquote(urlsplit(target).path)).resolve() if target[0] != "#" else path
                    assert urlsplit(target).fragment in ids[place], (path, target)

    def test_nothing_is_loaded_from_elsewhere(self, site: Path) -> None:
        for path in pages(site):
            for element in elements(path):
                if element.tag in {"img", "script", "link", "iframe", "video", "source"}:
                    for name in ("src", "srcset"):
                        assert not re.match(r"[a-z]+:(?!image/)|//", element.attributes.get(name, "")), path
                    if element.tag == "link" and element.attributes.get("rel") != "prev":
                        assert not urlsplit(element.attributes["href"]).scheme

    def test_no_page_has_inline_scripts_or_styles(self, site: Path) -> None:
        for path in pages(site):
            for element in elements(path):
                assert not any(name.startswith("on") for name in element.attributes)
                if element.tag in {"script", "style"}:
                    assert element.tag == "script"
                    assert element.text() == ""

    def test_the_policy_comes_first(self, site: Path) -> None:
        for path in pages(site):
            head = path.read_text("utf-8")[:900]
            assert f'content="{POLICY}"' in head
            assert head.index("Content-Security-Policy") < head.index("<title")
            assert '<meta name="referrer" content="no-referrer">' in head

    def test_ids_are_unique(self, site: Path) -> None:
        for path in pages(site):
            counts = Counter(each.attributes["id"] for each in elements(path) if "id" in each.attributes)
            assert [name for name, number in counts.items() if number > 1] == [], path

    def test_a_page_has_one_main_heading_and_a_language(self, site: Path) -> None:
        for path in pages(site):
            text = path.read_text("utf-8")
            assert '<html lang="ja">' in text
            assert text.count("<main") == 1
            assert len([each for each in elements(path) if each.tag == "h1"]) == 1, path


class TestTheDemo:
    def test_an_entry_has_its_text_pictures_and_comments(self, site: Path) -> None:
        text = (site / "entry" / "9.html").read_text("utf-8")
        assert "丘の一本桜" in text
        assert "<rt>ひゃくにじゅうねん</rt>" in text
        assert '<img src="../../../assets/' in text
        assert "わかめもお楽しみに" in text
        assert "https://shiodamari.blog.example.jp/Entry/9/" in text
        assert "entry_text" in text

    def test_a_commenter_leads_to_the_plain_address_only(self, site: Path) -> None:
        text = (site / "entry" / "26.html").read_text("utf-8")
        assert "&lt;b&gt;お得&lt;/b&gt;" in text
        assert 'class="home" href="https://www.example.com/"' in text

    def test_private_entries_are_marked(self, site: Path) -> None:
        marked = [path for path in (site / "entry").iterdir() if 'class="badge private"' in path.read_text("utf-8")]
        assert marked

    def test_a_removed_entry_is_marked_and_stays(self, site: Path) -> None:
        text = (site / "entry" / "66.html").read_text("utf-8")
        assert "以降、元のブログにはありません" in text
        assert 'href="../history/entry-66.html"' in text
        assert "entry/66.html" in (site / "history.html").read_text("utf-8")

    def test_history_shows_the_words_that_changed(self, site: Path) -> None:
        text = (site / "history" / "version-2.html").read_text("utf-8")
        assert re.search(r"<ins>[^<]*三世は元気です", text)
        assert re.search(r"<del>[^<]*していません", text)

    def test_a_version_shows_the_history_of_an_entry_that_changed_once(self, site: Path) -> None:
        link = 'href="../history/version-2.html#entry-50"'
        for name in ("entry/50.html", "history/entry-50-v1.html"):
            assert link in (site / name).read_text("utf-8")
        assert link.replace("../", "") in (site / "history.html").read_text("utf-8")
        assert not (site / "history" / "entry-50.html").exists()

    def test_about_names_every_version_with_its_hash(self, site: Path, demo: Built) -> None:
        text = (site / "about.html").read_text("utf-8")
        assert text.count('class="hash"') == len(demo.reader.versions())
        assert "sha256sum" in text

    def test_charts_have_a_table_with_the_same_values(self, site: Path) -> None:
        text = (site / "statistics.html").read_text("utf-8")
        assert text.count("<svg") == text.count("<details") == 5
        assert "<title>2016-03: 3</title>" in text

    def test_charts_have_text_values(self, site: Path) -> None:
        text = (site / "statistics.html").read_text("utf-8")
        assert re.search(r'<a class="s[1-4]" aria-label="2016年 3月: 3" href="year/2016.html#m3">3</a>', text)
        assert re.search(r'<text(?: class="spare")? x="[0-9.]+%" y="[0-9.]+">[0-9.]+ [kM]B</text>', text)

    def test_a_year_is_a_calendar(self, site: Path) -> None:
        text = (site / "year" / "2016.html").read_text("utf-8")
        march = text.partition('<a href="#m3">3月')[2].partition("</ol>")[0]
        assert march.count("<li") == 31
        assert '<li style="grid-column:3">1</li>' in march, "2016-03-01 was a Tuesday, and weeks begin with Sunday"
        assert re.search(r'<a class="s2" href="\.\./entry/[0-9]+\.html" aria-label="3月 19: 1">19</a>', march)

    def test_times_of_the_archive_are_in_the_time_zone_of_the_blog(self, demo: Built, site: Path) -> None:
        row = version_rows(demo.reader)[-1]
        local = datetime.fromisoformat(row.finished_at).astimezone(DEFAULT_SERVICE.timezone)
        for name in ("history.html", "about.html", f"history/version-{row.version}.html"):
            text = (site / name).read_text("utf-8")
            assert re.search(rf'<time datetime="{row.finished_at}">[^<]* {local:%H:%M}</time>', text)
            assert " UTC" not in text

    def test_the_gallery_links_to_the_entry_of_a_picture(self, site: Path) -> None:
        found = elements(site / "gallery.html")
        assert len([each for each in found if each.tag == "img"]) == 42
        assert any(each.attributes.get("href") == "entry/9.html" for each in found)


class TestIncrements:
    def test_the_same_records_write_no_files_and_make_the_same_bytes(self, demo: Built, tmp_path: Path) -> None:
        site = demo.layout.latest / "site"
        before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
        options = {"title": "潮だまり日記", "entry_addresses": ("https://{blog_id}/Entry/{entry_id}/",)}
        assert build(demo, **options) == 0
        assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before

    def test_a_changed_entry_writes_few_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(search_data, "SMALL_BLOG", 200)
        built = many_entries(tmp_path / "a", 300)
        assert build(built) > 300
        raw = built.reader.state().load(Kind.ENTRIES, "150")
        assert raw is not None
        changed = raw | {"title": "変わった題", "entry_text": raw["entry_text"] + "<p>書き足しました</p>"}
        built.commit({Kind.ENTRIES: {"150": lossless_json.dumps(changed)}})
        assert 8 <= build(built) < 20
        built.commit({Kind.ENTRIES: {"150": lossless_json.dumps(raw)}})
        assert 8 <= build(built) < 20

    def test_a_link_changes_when_its_entry_appears_and_disappears(self, tmp_path: Path) -> None:
        link = '<a href="/e/{}?from=top">前に書いた</a> <a href="https://else.example/e/9">よそ</a>'
        built = of_records(
            tmp_path / "a",
            {
                Kind.ENTRIES: {"1": entry(1, link.format(2)), "3": entry(3, link.format(1))},
                Kind.COMMENTS: {"5": record(cm_id="5", entry_id="3", cm_text=link.format(2))},
            },
        )
        options = {"entry_addresses": ("https://sea.example/e/{entry_id}",)}

        def links(page: str) -> list[str]:
            build(built, **options)
            found = (each.attributes.get("href", "") for each in elements(built.layout.latest / "site" / page))
            return [href for href in found if re.search(r"/2\b|e/9", href)]

        away = ["https://sea.example/e/2?from=top", "https://else.example/e/9"]
        assert links("entry/1.html") == away
        built.commit({Kind.ENTRIES: {"2": entry(2, "相手")}})
        for page in ("entry/1.html", "entry/3.html", "comments/undated.html"):
            assert "../entry/2.html" in links(page)
            assert "https://else.example/e/9" in links(page)
        built.commit({Kind.ENTRIES: {"2": None}})
        assert "../entry/2.html" in links("comments/undated.html")

    def test_an_updated_site_equals_a_new_one(self, tmp_path: Path) -> None:
        built = many_entries(tmp_path / "a", 60)
        build(built)
        built.commit({Kind.ENTRIES: {"7": None, "30": entry(30, "別")}, Kind.ENTRY_LIST: {"7": None}})
        build(built)
        site = built.layout.latest / "site"
        grown = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        built.refresh()
        build(built)
        assert {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()} == grown


class TestOddBlogs:
    def test_an_empty_one(self, tmp_path: Path) -> None:
        built = of_records(tmp_path / "a", {})
        build(built)
        assert (built.layout.latest / "site" / "index.html").is_file()
        assert "検索" in (built.layout.latest / "site" / "search.html").read_text("utf-8")

    def test_hostile_values_everywhere(self, tmp_path: Path) -> None:
        bad = '"><script>pwned=1</script>\u2028\ud800<!--'
        names = ("title", "name", "category_id", "open_flg", "ps_title", "regist_user_id", "text_format", "last_update")
        built = of_records(
            tmp_path / "a",
            {
                Kind.ENTRIES: {
                    bad: record(entry_id=bad, entry_text=bad, ps_text=bad, **dict.fromkeys(names, bad)),
                    "2": b'{"entry_id":2,"title":null,"year":[],"entry_text":{"a":1}}',
                },
                Kind.ENTRY_LIST: {
                    bad: record(entry_id=bad, category=bad, title=bad),
                    "9": record(entry_id="9", title=bad, regist_date="2016/01/01"),
                },
                Kind.COMMENTS: {
                    bad: record(cm_id=bad, entry_id=bad, name=bad, title=bad, cm_text=bad, url=bad, url_text=bad),
                    "5": record(cm_id="5", entry_id="gone", name=bad, cm_text=bad, regist_date=bad, res_flg=bad),
                },
                Kind.FILES: {"1": record(file_id="1", title=bad, name=bad)},
                Kind.ASSETS: {
                    "https://x.example/a": record(
                        url="https://x.example/a", sha256="ab" * 32, content_type="image/png",
                        refs=[{"entry": bad}, {"file": "1"}, {"entry": 1}],
                    )
                },
            },
        )  # fmt: skip
        build(built, language="en", title=bad)
        site = built.layout.latest / "site"
        for path in pages(site):
            scripts = [each for each in elements(path) if each.tag == "script"]
            assert all(each.attributes.get("src") for each in scripts), path
        for path in (site / "data").iterdir():
            text = path.read_text("utf-8")
            assert "<" not in text
            assert "\u2028" not in text


def entry(number: int, title: str) -> bytes:
    return record(
        entry_id=str(number), title=title, entry_text=f"<p>{title}の本文{number}</p>", open_flg="1", is_private="f",
        year=str(2008 + number // 400), mon=f"{number % 12 + 1:02}", day=f"{number % 28 + 1:02}",
        hour="08", min="00", sec="00", ps_title="", ps_text="",
    )  # fmt: skip


def many_entries(root: Path, count: int) -> Built:
    return of_records(
        root,
        {
            Kind.ENTRIES: {str(number): entry(number, f"題{number}") for number in range(1, count + 1)},
            Kind.ENTRY_LIST: {
                str(number): record(entry_id=str(number), category=f"分類{number % 5}")
                for number in range(1, count + 1)
            },
        },
    )
