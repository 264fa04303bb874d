"""Pages in one file have the site's style, show changed words and pictures, and load and run nothing."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from pathlib import Path

import pytest
from PIL import Image
from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter import lossless_json
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions, single
from exporter.site.single import OneFilePages
from tests.archive.builder import Built, record
from tests.site.building import build, stored
from tests.site.past_blog import an_entry, said
from tests.support.pictures import png

SHEET = Path(__file__).parent.parent.parent / "exporter" / "site" / "static" / "site.css"
HOSTILE = "<script>alert(1)</script>\u202e\x1b[2J\ud83d&\U000f0000"
BEFORE = (
    '<p>今日は海へ行った。<img src="https://img.example/1.png" alt="海"></p><iframe src="https://www.youtube.com/embed/abc"></iframe>'
    '<table><tr><td>満潮</td><td>六時</td></tr></table><p>夕方に帰った。</p><img src="https://img.example/lost.png" alt="なし">'
)
AFTER = (
    BEFORE.replace("海へ", "山へ")
    .replace("1.png", "2.png")
    .replace("abc", "xyz")
    .replace("六時", "七時")
    .replace("lost", "gone")
)


def one(tree: LexborHTMLParser | LexborNode, selector: str) -> LexborNode:
    found = tree.css_first(selector)
    assert found is not None, selector
    return found


def edited(root: Path) -> Built:
    """Build two versions of an entry whose words, picture, player and table change, and of its comments."""
    built = Built(root)
    assets = {
        each.url: lossless_json.dumps(each.data())
        for each in (
            stored(root, f"https://img.example/{number}.png", png(number, 60, 40), refs=[{"entry": "1"}])
            for number in (1, 2)
        )
    }
    built.commit({
        Kind.ENTRIES: {"1": an_entry(1, "海の日", BEFORE), "2": an_entry(2, "同じ", "<p>同じ文。</p>")},
        Kind.COMMENTS: {"5": said(5, 1, "はじめの感想。"), "6": said(6, 1, "消える感想。")},
        Kind.ASSETS: assets,
    })  # fmt: skip
    built.commit({
        Kind.ENTRIES: {"1": an_entry(1, "山の日", AFTER), "2": an_entry(2, "同じ", "<p><b>同じ</b>文。</p>")},
        Kind.COMMENTS: {"5": said(5, 1, "つぎの感想。"), "6": None, "7": said(7, 1, "新しい感想。")},
    })  # fmt: skip
    return built


def pages(built: Built, language: str = "ja") -> OneFilePages:
    return OneFilePages(built.reader, DEFAULT_SERVICE, SiteOptions(title="潮だまり", language=language))


def changes(built: Built, language: str = "ja") -> str:
    found = built.reader.diff(1, 2, DEFAULT_SERVICE)
    return pages(built, language).changes(found, 1, 2).decode()


def shown_record(built: Built, kind: Kind, record_id: str) -> str:
    found = built.reader.record(kind, record_id)
    assert found is not None
    return pages(built).record(kind, record_id, found.data(), found.version, 1).decode()


def image(number: int) -> str:
    return "data:image/png;base64," + base64.b64encode(png(number, 60, 40)).decode()


def test_the_changed_words_pictures_players_and_cells_are_marked(tmp_path: Path) -> None:
    found = one(LexborHTMLParser(changes(edited(tmp_path / "a"))), "ol.changes > li")
    lines = [line.text() for line in found.css(".words p")]
    assert {"海の日 → 山の日", "今日は海山へ行った。", "満潮 │ 六時七時"} <= set(lines)
    assert [each.attributes["src"] for each in found.css("del img")] == [image(1)]
    assert [each.attributes["src"] for each in found.css("ins img")] == [image(2)]
    players = [each.attributes["href"] for each in found.css("ins a.player, del a.player")]
    assert players == ["https://www.youtube.com/watch?v=abc", "https://www.youtube.com/watch?v=xyz"]
    assert [each.text() for each in found.css("del .lost")] == ["なし https://img.example/lost.png"]
    assert not [line for line in lines if "<" in line]
    folded = found.css("details table.record th")
    assert [each.text() for each in folded] == ["entry_text", "title"]
    assert "<iframe" in one(found, "details").text()


def test_comments_and_new_and_gone_records_have_their_texts(tmp_path: Path) -> None:
    tree = LexborHTMLParser(changes(edited(tmp_path / "a")))
    texts = {
        (one(item, ".mark").text(), words.inner_html)
        for item in tree.css("ol.changes > li")
        if one(item, "small").text().startswith("コメント")
        for words in item.css(".words p")
    }
    assert texts >= {
        ("変更", "<del>はじめの</del><ins>つぎの</ins>感想。"),
        ("消失", "<del>消える感想。</del>"),
        ("新規", "<ins>新しい感想。</ins>"),
    }


def test_a_text_that_reads_the_same_says_so_and_shows_its_markup(tmp_path: Path) -> None:
    tree = LexborHTMLParser(changes(edited(tmp_path / "a"), "en"))
    item = tree.css("ol.changes > li")[1]
    assert one(item, ".diff .faint").text() == "It reads the same; only its markup changed."
    assert "<b>" in one(item, ".words ins").text()


@pytest.mark.parametrize("made", [changes, lambda built: shown_record(built, Kind.ENTRIES, "1")])
def test_the_only_style_is_the_site_s(tmp_path: Path, made: object) -> None:
    assert callable(made)
    page = made(edited(tmp_path / "a"))
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert style == SHEET.read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page
    tree = LexborHTMLParser(page)
    assert not tree.css("script, link, iframe, object, form")
    assert one(tree, ".top .site-name").text() == "潮だまり"
    assert all((each.attributes["src"] or "").startswith("data:") for each in tree.css("img"))


def test_a_record_has_its_pictures_and_its_fields(tmp_path: Path) -> None:
    built = edited(tmp_path / "a")
    tree = LexborHTMLParser(shown_record(built, Kind.ENTRIES, "1"))
    assert one(tree, "h1").text() == "山の日"
    assert one(tree, ".when").text() == "2016年1月4日（月） 21:05"
    assert one(tree, ".body img").attributes["src"] == image(2)
    assert "entry_text" in [each.text() for each in tree.css("table.record th")]
    comment = LexborHTMLParser(shown_record(built, Kind.COMMENTS, "5"))
    assert one(comment, ".comment .body").text() == "つぎの感想。"


def test_pictures_beyond_the_budget_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single, "_BUDGET_BYTES", len(png(1, 60, 40)) + 1)
    found = one(LexborHTMLParser(changes(edited(tmp_path / "a"))), "ol.changes > li")
    assert len(found.css("img")) == 1
    assert "海 https://img.example/2.png" in [each.text() for each in found.css("ins .lost")]


def test_a_large_picture_becomes_a_thumbnail(tmp_path: Path) -> None:
    built = Built(tmp_path / "a")
    content = io.BytesIO()
    Image.effect_noise((1600, 1200), 80).save(content, "JPEG", quality=90)
    asset = stored(built.root, "https://img.example/1.png", content.getvalue(), refs=[{"entry": "1"}])
    built.commit({
        Kind.ENTRIES: {"1": an_entry(1, "海", '<img src="https://img.example/1.png">')},
        Kind.ASSETS: {asset.url: lossless_json.dumps(asset.data())},
    })  # fmt: skip
    (found,) = LexborHTMLParser(shown_record(built, Kind.ENTRIES, "1")).css(".body img")
    assert (found.attributes["src"] or "").startswith("data:image/webp;base64,")


def test_a_damaged_picture_is_not_shown(tmp_path: Path) -> None:
    built = edited(tmp_path / "a")
    for path in (built.root / "assets").rglob("*.png"):
        path.write_bytes(path.read_bytes() + b"?")
    assert "data:image" not in changes(built).partition("</style>")[2]


def test_hostile_texts_are_shown_and_do_nothing(tmp_path: Path) -> None:
    built = Built(tmp_path / "a")
    for title, text in ((HOSTILE, HOSTILE), ("題", f"{HOSTILE}<img src='assets/../../etc/passwd'>{'<b>' * 5000}")):
        entry = record(entry_id="1", title=title, entry_text=text, **{HOSTILE: text})
        built.commit({Kind.ENTRIES: {"1": entry}, Kind.COMMENTS: {"5": record(cm_id="5", name=title, cm_text=text)}})
    for page in (changes(built), shown_record(built, Kind.ENTRIES, "1"), shown_record(built, Kind.COMMENTS, "5")):
        body = page.partition("</style>")[2]
        assert not re.search(r"<script|\x1b|[\ud800-\udfff]", body)
        assert not LexborHTMLParser(body).css("script, [onclick], [src^='assets']")


def test_the_site_s_history_shows_the_same_change(tmp_path: Path) -> None:
    built = edited(tmp_path / "a")
    build(built)
    page = LexborHTMLParser((built.layout.latest / "site" / "history" / "version-2.html").read_text("utf-8"))
    here = [line.text() for line in one(page, "ol.changes > li").css(".words p")]
    alone = one(LexborHTMLParser(changes(built)), "ol.changes > li").css(".words p")
    assert here == [line.text() for line in alone]
    (drawn,) = page.css("ins img")
    target = (built.layout.latest / "site" / "history" / (drawn.attributes["src"] or "")).resolve()
    assert target.is_file()
