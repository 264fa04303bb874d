"""The site of a blog with several categories, tags, writers, pages, audiences and threads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from exporter import lossless_json
from exporter.html.tree import Element, parse
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.site import SiteOptions, search_data
from exporter.site.catalogue import safe_name
from exporter.site.pages.site import MAX_TAG_PAGES, author_page, category_page
from exporter.site.view import PublicRecords, SiteView
from tests.archive.builder import Built
from tests.site.building import stored
from tests.site.test_view import elements, pages
from tests.site.wide_site import page, refresh, site_folder
from tests.support.pictures import png
from tests.support.wide_blog import WideService, archive, changes, comment, everyday_blog, many, post


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = everyday_blog(tmp_path_factory.mktemp("wide") / "blog")
    assert refresh(built, language="en", title="A diary") > 80
    return built


def entry(built: Built, entry_id: str) -> str:
    return page(built, f"entry/{safe_name(entry_id)}.html")


def titles(html: str) -> list[str]:
    return [
        " ".join(node.text().split())
        for node in parse(html).walk()
        if isinstance(node, Element)
        and node.tag == "a"
        and node.attributes.get("href", "").startswith(("entry/", "../entry/"))
    ]


def check_links(site: Path) -> None:
    """Every link has a target, and every anchor exists."""
    ids = {path: {each.attributes.get("id") for each in elements(path)} for path in pages(site)}
    for path in ids:
        for element in elements(path):
            for name in ("href", "src", "action"):
                target = element.attributes.get(name, "")
                if not target or urlsplit(target).scheme:
                    continue
                place = (path.parent / unquote(urlsplit(target).path)).resolve() if target[0] != "#" else path
                assert place.is_file(), (path, target)
                if urlsplit(target).fragment and not target.startswith("#c-"):
                    assert urlsplit(target).fragment in ids[place], (path, target)


class TestEntryPages:
    def test_links_and_anchors_have_targets(self, wide: Built) -> None:
        check_links(site_folder(wide))

    def test_an_entry_has_its_categories_tags_and_writer(self, wide: Built) -> None:
        html = entry(wide, "p-1")
        assert f'href="../{category_page(("旅行", "関西", "京都"))}">旅行 › 関西 › 京都</a>' in html
        assert f'href="../{category_page(("写真",))}">写真</a>' in html
        assert f'<a href="../{author_page("みなと")}"><bdi lang="ja">みなと</bdi></a>' in html
        assert re.findall(r'<li><a lang="ja" href="\.\./tag/[0-9a-f]{12}\.html">([^<]*)</a></li>', html) == [
            "春", "寺", "kyoto/2024",
        ]  # fmt: skip

    def test_an_entry_has_its_old_address_its_summary_and_its_featured_picture(self, wide: Built) -> None:
        html = entry(wide, "p-1")
        link = "https://blog.example.com/2024/05/kyoto.html"
        assert f'Original address: <a href="{link}" rel="noopener noreferrer">{link}</a>' in html
        assert '<div class="body lead" lang="ja">二日で歩いた寺と川の話。</div>' in html
        assert "Featured picture: <bdi>https://blog.example.com/img/kyoto.jpg</bdi>" in html

    def test_a_link_to_the_old_address_of_an_entry_leads_to_its_page(self, wide: Built) -> None:
        assert f'<a href="../entry/{safe_name("p-2")}.html" rel="noopener noreferrer">お茶の記事</a>' in entry(
            wide, "p-1"
        )

    @pytest.mark.parametrize(
        ("entry_id", "badge"),
        [
            ("p-4", "Draft"), ("p-5", "Members only"), ("p-6", "With a password"), ("p-7", "Scheduled"),
            ("p-8", "Private"), ("page-2", "Draft"),
        ],
    )  # fmt: skip
    def test_an_entry_that_not_everybody_could_read_is_marked(self, wide: Built, entry_id: str, badge: str) -> None:
        for html in (entry(wide, entry_id), page(wide, "pages.html" if entry_id == "page-2" else "index.html")):
            assert re.search(rf'<span class="badge private" title="[^"]+">{badge}</span>', html)

    def test_a_public_entry_has_no_badge(self, wide: Built) -> None:
        for entry_id in ("p-1", "p-3", "page-1"):
            assert 'class="badge private"' not in entry(wide, entry_id)

    def test_a_stored_featured_picture_is_shown_with_its_alternative_text(self, tmp_path: Path) -> None:
        link = "https://blog.example.com/img/kyoto.jpg"
        shown = post("2", "U", f'<p><img src="{link}" alt="x"></p>', featured=link)
        built = archive(tmp_path / "a", changes([post("1", "T", featured=link), shown], (), [
            {"id": "f", "name": "kyoto.jpg", "url": link, "alt": "鴨川の朝"},
        ]))  # fmt: skip
        refs = [{"entry": "1"}, {"entry": "2"}, {"file": "f"}]
        asset = stored(built.root, link, png(1, 80, 60), refs=refs)
        built.commit({Kind.ASSETS: {link: lossless_json.dumps(asset.data())}})
        refresh(built)
        html = entry(built, "1")
        assert html.count("<img ") == 1
        assert re.search(r'<ul class="shots featured">\n<li [^>]*><a [^>]*><img [^>]*alt="鴨川の朝"', html)
        assert "featured" not in entry(built, "2").replace("&#34;featured", "")
        assert page(built, "index.html").count("<img ") == 2
        check_links(site_folder(built))

    def test_a_summary_that_begins_the_text_is_not_repeated(self, tmp_path: Path) -> None:
        built = archive(
            tmp_path / "a", changes([post("1", "T", "<p>Today we walked far.</p>", excerpt="Today we walked")])
        )
        refresh(built)
        assert "lead" not in entry(built, "1")


class TestComments:
    def test_answers_are_below_what_they_answer(self, wide: Built) -> None:
        html = entry(wide, "p-1")
        order = re.findall(r'<li id="comment-([^"]+)"', html)
        assert order == ["c-1", "c-2", "c-5", "c-3", "c-4", "c-6", "c-7", "c-8", "t-1", "t-2"]
        assert html.count('<ol class="replies">') == 3

    def test_kinds_statuses_and_the_owner_are_marked(self, wide: Built) -> None:
        html = entry(wide, "p-1")
        parts = dict(re.findall(r'<li id="comment-([^"]+)".*?<p class="by">(.*?)</p>', html, re.DOTALL))
        marks = {key: re.findall(r'<span class="badge[^>]*>([^<]*)</span>', part) for key, part in parts.items()}
        assert marks["c-1"] == []
        assert marks["c-2"] == marks["c-4"] == ["author"]
        assert marks["c-6"] == ["Spam"]
        assert marks["c-7"] == []
        assert marks["c-8"] == ["Hidden"]
        assert (marks["t-1"], marks["t-2"]) == (["Trackback"], ["Pingback"])
        assert '<time datetime="2024-05-02T10:15:00+09:00">2 May 2024 10:15</time>' in parts["c-2"]

    def test_the_state_before_an_approval_can_be_read(self, wide: Built) -> None:
        html = page(wide, "history/version-2.html")
        assert "<del>Waiting for approval</del> → <ins>Shown</ins>" in html

    def test_no_page_or_file_has_a_mail_address(self, wide: Built) -> None:
        for path in [*site_folder(wide).rglob("*.*"), *(wide.layout.latest / "markdown").rglob("*.md")]:
            assert b"secret.example" not in path.read_bytes(), path

    def test_the_newest_comments_come_first_to_the_minute(self, wide: Built) -> None:
        order = re.findall(r'<li id="comment-([^"]+)"', page(wide, "comments.html"))
        assert order == ["t-2", "t-1", "c-8", "c-7", "c-6", "c-5", "c-4", "c-3", "c-2", "c-1"]


class TestLists:
    def test_pages_are_apart_from_posts(self, wide: Built) -> None:
        assert titles(page(wide, "pages.html")) == ["Contact", "このブログについて"]
        for path in ("index.html", "year/2023.html"):
            assert "このブログについて" not in page(wide, path)
        assert "Entries: 9" in page(wide, "index.html")
        about = entry(wide, "page-1")
        assert 'rel="prev"' not in about
        assert 'href="../pages.html" aria-current="page"' in about
        assert "page-1" not in {each for post_id in ("p-9", "p-1") for each in titles(entry(wide, post_id))}

    def test_categories_are_a_tree(self, wide: Built) -> None:
        html = page(wide, "categories.html")
        assert re.search(
            r"旅行</a>\s*<ul><li[^>]*><a[^>]*>関西</a>\s*<ul><li[^>]*><a[^>]*>京都</a> <small>2</small>", html
        )
        kansai = page(wide, category_page(("旅行", "関西")))
        assert f'<a href="../{category_page(("旅行",))}" lang="ja">旅行</a>' in kansai
        assert re.findall(r'<span lang="ja">([^<]*)</span> <small>(\d+)</small>', kansai) == [
            ("京都", "2"),
            ("大阪", "1"),
        ]
        assert titles(page(wide, category_page(("旅行", "関西", "京都")))) == ["お茶のいれかた（改）", "京都の二日間"]

    def test_each_tag_and_each_writer_has_a_page(self, wide: Built) -> None:
        tags = page(wide, "tags.html")
        found = dict(re.findall(r'href="(tag/[^"]+)"><span lang="ja">([^<]*)</span>', tags))
        assert sorted(found.values()) == sorted(["春", "kyoto/2024", "tide", "お茶", "夜", "寺", "湯"])
        spring = next(path for path, name in found.items() if name == "春")
        assert titles(page(wide, spring)) == ["友だちへ", "京都の二日間"]
        assert titles(page(wide, author_page("さくら"))) == ["友だちへ", "お茶のいれかた（改）"]

    def test_statistics_count_posts_tags_and_writers(self, wide: Built) -> None:
        html = page(wide, "statistics.html")
        assert "<li>Entries: 9</li><li>Pages: 2</li>" in html
        assert '<section class="figure" id="tags">' in html
        assert '<section class="figure" id="authors">' in html

    def test_a_blog_without_them_has_no_such_lists(self, site: Path) -> None:
        for name in ("tags.html", "authors.html", "pages.html", "tag", "author"):
            assert not (site / name).exists()

    def test_a_second_build_writes_nothing_and_a_change_only_what_it_concerns(self, tmp_path: Path) -> None:
        built = everyday_blog(tmp_path / "blog")
        refresh(built)
        assert refresh(built) == 0
        built.commit(
            changes(
                [post("p-3", "大阪の朝", categories=["料理"], tags=["夜"], author="みなと", date="2024-06-01T21:00:00")]
            )
        )
        refresh(built)
        check_links(site_folder(built))
        assert titles(page(built, category_page(("料理",)))) == ["大阪の朝", "お茶のいれかた（改）"]
        assert not (site_folder(built) / category_page(("旅行", "関西", "大阪"))).exists()


class TestSearchData:
    def rows(self, built: Built) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for path in site_folder(built).glob("data/texts-*.js"):
            text = path.read_text("utf-8").removeprefix("blogData(").removesuffix(");\n")
            for row in json.loads(f"[{text}]")[2]:
                found[row[0]] = row
        return found

    def test_a_row_ends_with_the_labels(self, wide: Built) -> None:
        rows = self.rows(wide)
        row = rows[f"entry/{safe_name('p-1')}.html"]
        assert row[7] == [["旅行 › 関西 › 京都", "写真"], ["春", "寺", "kyoto/2024"], "みなと", "post", ""]
        assert row[5].endswith("二日で歩いた寺と川の話。")
        assert rows[f"entry/{safe_name('page-2')}.html"][7][3:] == ["page", "draft"]

    def test_the_page_offers_the_choices(self, wide: Built) -> None:
        assert re.findall(r'<select name="(\w+)">', page(wide, "search.html")) == [
            "year", "category", "tag", "author", "kind", "sort",
        ]  # fmt: skip


class TestPublicCopy:
    def test_it_has_public_entries_and_shown_comments_only(self, wide: Built) -> None:
        service, reader = WideService(), wide.reader
        state = reader.state()
        public = PublicRecords(state, Declared(), None, service)
        assert set(public.ids(Kind.ENTRIES)) == {"p-1", "p-3", "p-9", "page-1"}
        assert not {"c-6", "c-8"} & set(public.ids(Kind.COMMENTS))
        files = {file.path: file.render() for file in SiteView(service, None, SiteOptions(public=True)).files(public)}
        state.close()
        whole = b"".join(files.values())
        for word in ("書きかけ", "友だちへ", "合言葉の記事", "来年の予告", "自分用", "Contact", "cheap watches", "湯"):
            assert word.encode() not in whole, word


_NAMES = ("</script><script>alert(1)</script>", "a/b\\c", "..", '" onclick="x', "\u202egnp.exe", "  ", "", "日本\n語", "\ud83d", "x" * 5_000, "__proto__", "-->")  # fmt: skip


class TestHostileBlogs:
    def test_names_are_shown_as_text(self, tmp_path: Path) -> None:
        posts = [
            post(str(at), f"T{at}", categories=[name, ("top", name), (name, name)], tags=[name, "b"], author=name)
            for at, name in enumerate(_NAMES)
        ]
        built = archive(tmp_path / "a", changes(posts, [comment(name or "x", "1", name, name) for name in _NAMES]))
        refresh(built)
        check_links(site_folder(built))
        for path in pages(site_folder(built)):
            for element in elements(path):
                assert not any(name.startswith("on") for name in element.attributes), path
                assert element.tag != "script" or not element.text(), path
            assert "alert(1)</script>" not in path.read_text("utf-8")
        for path in site_folder(built).rglob("data/*.js"):
            assert "</script" not in path.read_text("utf-8")

    def test_a_category_may_have_a_thousand_parents_that_repeat(self, tmp_path: Path) -> None:
        deep = ("a", "b") * 500
        built = archive(tmp_path / "a", changes([post("1", "T", categories=[(*deep, "x"), (*deep, "y")])]))
        refresh(built)
        html = page(built, "categories.html")
        assert html.count("<ul") < 20
        assert "a › b › a › b › a › … › b › a › b › x" in entry(built, "1")
        check_links(site_folder(built))

    @pytest.mark.parametrize(
        ("categories", "tags"), [(50, MAX_TAG_PAGES + 1), pytest.param(500, 10_000, marks=pytest.mark.thorough)]
    )
    def test_an_entry_may_have_500_categories_and_10_000_tags(self, tmp_path: Path, categories: int, tags: int) -> None:
        posts = [
            post("1", "T", categories=[f"c{at}" for at in range(categories)], tags=[f"t{at}" for at in range(tags)])
        ]
        posts.append(post("2", "U", tags=["t7", "t8"]))
        built = archive(tmp_path / "a", changes(posts))
        refresh(built)
        tag_pages = list((site_folder(built) / "tag").iterdir())
        assert len(tag_pages) == 2, "a tag of one entry has no page of its own, if there are more than MAX_TAG_PAGES"
        assert tags > MAX_TAG_PAGES
        assert len(list((site_folder(built) / "category").iterdir())) == categories + 1
        html = entry(built, "1")
        assert html[html.index('<ul class="tags"') : html.index("</header>\n<div")].count("<li><") == tags
        assert "<summary>" in html[html.index('<ul class="tags"') : html.index("</header>\n<div")]
        check_links(site_folder(built))

    def test_a_thread_may_have_a_thousand_levels_or_be_a_circle(self, tmp_path: Path) -> None:
        said = [comment(f"c{at}", "1", f"n{at}", "x", parent=f"c{at - 1}") for at in range(1_000)]
        said += [comment("r1", "1", "r", "x", parent="r2"), comment("r2", "1", "r", "x", parent="r1")]
        built = archive(tmp_path / "a", changes([post("1", "T")], said))
        refresh(built)
        html = entry(built, "1")
        assert len(re.findall(r'<li id="comment-', html)) == 1_002
        deepest = depth = 0
        for tag in re.findall(r"</?ol\b", html[html.index('id="comments"') :]):
            depth += 1 if tag == "<ol" else -1
            deepest = max(deepest, depth)
        assert deepest == 3

    def test_many_entries_with_labels_take_shards(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(search_data, "SMALL_BLOG", 100)
        built = archive(
            tmp_path / "a", changes(many(105, tags=["珊瑚礁"], author="みなと", categories=[("海", "珊瑚")]))
        )
        refresh(built)
        shards = b"".join(path.read_bytes() for path in site_folder(built).glob("data/pairs-*.js"))
        assert "珊".encode() in shards
        assert "瑚".encode() in shards
