"""Parts of other records in an entry of WordPress' export file: synced patterns, galleries and footnotes."""

from __future__ import annotations

import io
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.archive import Archive
from exporter.crawl.assets.addresses import addresses
from exporter.export.formats import NAMED
from exporter.html.embedded import Use
from exporter.html.page_body import BodyWriter
from exporter.html.wordpress_blocks import MAX_PATTERN_CHARACTERS
from exporter.html.wordpress_content import Surroundings, content
from exporter.library.forget import ForgettingRequest, find
from exporter.model.kinds import Kind
from exporter.model.records import Lack, Post, Unshown
from exporter.service.export_file import FoundRecord
from exporter.service.wxr.source import WxrFile
from exporter.source.export_files import find_export_files
from exporter.source.file_index import FileIndex
from tests.export.memory import Memory, export
from tests.service.wxr_samples import channel, item, meta, picture
from tests.source.wxr_backups import saved, settings, state_of

PATTERN = "<!-- wp:paragraph -->\n<p>{}</p>\n<!-- /wp:paragraph -->"


def pattern(number: int, body: str, **fields: Any) -> str:
    return item(number, body, post_type="wp_block", **fields)


async def posts_of(folder: Path, *items: str) -> dict[str, Post]:
    """Back items up, and return the entries."""
    path = folder / "export.xml"
    path.write_text(channel(*items), "utf-8")
    made = await saved(path, folder / "archive")
    assert made.outcome.problems == []
    state = state_of(folder / "archive")
    return {key: WxrFile().post(raw) for key, raw in state[Kind.ENTRIES].items()}


async def test_an_entry_shows_the_patterns_and_pictures_that_it_names(tmp_path: Path) -> None:
    shown = '<!-- wp:block {"ref":62} /-->\n\n<!-- wp:block {"ref":64} /-->\n\n<!-- wp:block {"ref":65} /-->'
    found = await posts_of(
        tmp_path,
        item(1, shown),
        item(2, '[gallery ids="6,5,9" columns="2" link="file"]'),
        item(3, "写真\n\n[gallery exclude=\"7\" order=\"DESC\"]\n\n後"),
        item(4, '[playlist ids="8"] [contact-form id="3"] [1] [[gallery]] [注: 文]'),
        picture(5, "a.jpg", post_parent=3),
        picture(6, "b.jpg", post_parent=3, menu_order=2),
        picture(7, "c.jpg", post_parent=3),
        picture(8, "d.mp3", post_parent=3),
        pattern(62, PATTERN.format("共通の文") + '<!-- wp:block {"ref":63} /-->'),
        pattern(63, PATTERN.format("中の文") + '<!-- wp:block {"ref":62} /-->[gallery ids="5"]'),
        pattern(64, PATTERN.format("秘密の文"), status="draft"),
    )  # fmt: skip
    body = found["1"].body
    assert [body.count(each) for each in ("共通の文", "中の文", "秘密の文", "a.jpg")] == [1, 1, 0, 1]
    assert found["1"].unshown == (Unshown(Lack.PATTERN, "65"),)
    assert [each.reason for each in found["1"].problems] == ["the synced pattern 65 is not in the export file"]
    pictures = [
        found["2"].body.find(f'<img src="https://blog.example/wp-content/uploads/2024/04/{each}.jpg" alt="夕方の海">')
        for each in "ba"
    ]
    assert -1 < pictures[0] < pictures[1]
    assert found["2"].body.count("<figcaption>") == found["2"].body.count("<a href=") == 2
    assert found["2"].unshown == (Unshown(Lack.PICTURES),)
    assert [name for name in ("b.jpg", "a.jpg", "c.jpg", "d.mp3") if name in found["3"].body] == ["b.jpg", "a.jpg"]
    assert found["3"].body.index("b.jpg") < found["3"].body.index("a.jpg")
    assert found["3"].unshown == ()
    assert 'd.mp3">海</a>' in found["4"].body
    assert found["4"].unshown == (Unshown(Lack.SHORTCODE, "contact-form"),)
    assert 'class="pictures"' in BodyWriter(lambda _: "a.jpg", "https://blog.example/").html(found["2"].body, "")
    uploads = "https://blog.example/wp-content/uploads/2024/04/"
    assert addresses(found["1"], uploads) == [(f"{uploads}a.jpg", Use.SHOWN)]
    assert {address for address, _ in addresses(found["2"], uploads)} == {f"{uploads}{name}.jpg" for name in "ab"}


def test_a_pattern_with_texts_of_its_own_in_an_entry(subtests: pytest.Subtests) -> None:
    open_block = '{"metadata":{"bindings":{"__default":{"source":"core/pattern-overrides"}},"name":"N"}}'
    rows = [
        ("paragraph", "<p>元の文</p>", {"content": "新しい<b>文</b>"}, "<p>新しい<b>文</b></p>"),
        ("heading", '<h2 class="a">元</h2>', {"content": "新"}, '<h2 class="a">新</h2>'),
        ("button", '<a class="b" href="/old">元</a>', {"text": "新", "url": "/a?b&c"}, '<a href="/a?b&amp;c" class="b">新</a>'),
        ("image", '<figure><img src="/old.jpg" alt="元"/></figure>', {"url": "/new.jpg"}, '<figure><img src="/new.jpg" alt="元"/></figure>'),
    ]  # fmt: skip
    for name, inside, values, shown in rows:
        source = f"<!-- wp:{name} {open_block} -->{inside}<!-- /wp:{name} -->"
        for written in (
            {"content": {"N": values}},
            {"content": {"N": {"values": values}}},
            {"overrides": {"N": values}},
        ):
            with subtests.test(name=name, written=written):
                block = f"<!-- wp:block {json.dumps({'ref': 62, **written})} /-->"
                assert content(block, Surroundings(patterns={"62": source})).body == shown
        fixed = source.replace("bindings", "other")
        block = f"<!-- wp:block {json.dumps({'ref': 62, 'content': {'N': values}})} /-->"
        assert content(block, Surroundings(patterns={"62": fixed})).body == inside, "the pattern does not let it change"


def test_a_hostile_body_shows_no_more_than_its_limit() -> None:
    large = "<p>" + "あ" * 100_000 + "</p>"
    found = content('<!-- wp:block {"ref":62} /-->' * 1000, Surroundings(patterns={"62": large}))
    assert len(found.body) <= MAX_PATTERN_CHARACTERS
    assert found.unshown == (Unshown(Lack.PATTERNS_LARGE),)
    doubling = {str(n): f'<!-- wp:block {{"ref":{n + 1}}} /-->' * 1000 for n in range(1, 60)}
    assert (
        content('<!-- wp:block {"ref":1} /-->', Surroundings(patterns=doubling)).unshown[0].lack is Lack.PATTERNS_LARGE
    )


def test_a_hostile_file_adds_no_more_than_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "export.xml"
    entries = [item(n, '<!-- wp:block {"ref":62} /-->') for n in range(100, 110)]
    path.write_text(channel(*entries, pattern(62, PATTERN.format("あ" * 5_000))), "utf-8")
    index = FileIndex(find_export_files(path), WxrFile(), tmp_path / "index.sqlite")
    index._bytes_left = 50_000
    index.build()
    assert index.losses == ["patterns and galleries are missing from entry 103 on: too many"]
    index.close()


REFERENCE = '<sup data-fn="{0}" class="fn"><a href="#{0}" id="{0}-link">{1}</a></sup>'


def noted(*ids: str, block: str = "<!-- wp:footnotes /-->") -> str:
    shown = "".join(PATTERN.format(f"文{REFERENCE.format(each, n)}") for n, each in enumerate(ids, 1))
    return f"{shown}\n{block}\n{PATTERN.format('後')}"


def test_footnotes_are_where_their_block_is(subtests: pytest.Subtests) -> None:
    back = ' <a href="#a-link">↩︎</a>'
    rows: list[tuple[str, Any, str, bool]] = [
        ("the block's place", [{"id": "a", "content": "<em>注</em>"}], f'<ol class="wp-block-footnotes"><li id="a"><em>注</em>{back}</li></ol>\n<p>後', False),
        ("unreferenced", [{"id": "b", "content": "注"}], '<li id="b">注</li>', False),
        ("active", [{"id": 'a"><script>', "content": "注<script>x()</script><img src=x onerror=y()></li><!-- wp:block"}], '<li id="a&quot;&gt;&lt;script&gt;">注<img src="x"></li>', False),
        ("without an id", [{"content": "注"}, {"id": 5, "content": "二"}], "<li>注</li><li>二</li>", False),
        ("the same twice", [{"id": "a", "content": "注"}, {"id": "a", "content": "二"}], f'<li id="a">注{back}</li><li>二</li>', False),
        ("none", "", "<p>文", True),
        ("broken", '[{"content":"a "quoted" text","id":"a"}]', "<p>文", True),
        ("another form", {"a": 1}, "<p>文", True),
        ("deep", "[" * 100_000, "<p>文", True),
    ]  # fmt: skip
    for name, notes, shown, lacks in rows:
        with subtests.test(name):
            text = notes if isinstance(notes, str) else json.dumps(notes)
            found = content(noted("a"), Surroundings(footnotes=text))
            assert shown in found.body
            assert "<script" not in found.body
            assert found.body.endswith("<p>後</p>")
            assert found.unshown == ((Unshown(Lack.NOTES),) if lacks else ())
    no_block = content(noted("a", block=""), Surroundings(footnotes='[{"id":"a","content":"注"}]')).body
    assert no_block.endswith(f'<p>後</p>\n\n<ol class="wp-block-footnotes"><li id="a">注{back}</li></ol>')
    in_pattern = Surroundings(patterns={"7": "<!-- wp:footnotes /-->"}, footnotes='[{"id":"a","content":"注"}]')
    assert content(noted("a", block='<!-- wp:block {"ref":7} /-->'), in_pattern).body.count("注") == 1
    assert content("一\n\n二", Surroundings(footnotes='[{"id":"a","content":"注"}]')).body.count("<p>") == 2


def test_every_target_has_the_footnotes_with_links_both_ways(subtests: pytest.Subtests) -> None:
    notes = json.dumps([{"id": f"{n}{'a' * 8}-4bbb", "content": f"脚注の<b>本文{n}</b>"} for n in (1, 2)])
    first, second = (PATTERN.format(f"文{REFERENCE.format(f'{n}aaaaaaaa-4bbb', n)}") for n in (1, 2))
    more = "<!-- wp:more -->\n<!--more-->\n<!-- /wp:more -->"
    bodies = {"one": f"{first}{second}<!-- wp:footnotes /-->", "two": f"{first}{more}{second}<!-- wp:footnotes /-->"}
    for name, body in bodies.items():
        blog = Memory()
        for found in WxrFile().read(io.BytesIO(channel(item(1, body, extra=meta("footnotes", notes))).encode()), ""):
            assert isinstance(found, FoundRecord)
            blog.kinds[found.kind][found.id] = {**found.raw, "id": found.id}
        for form in sorted(NAMED.keys() - {"bagit", "redirects", "parquet"}):
            with subtests.test(form, body=name):
                texts = export(form, blog, service=WxrFile()).everything().decode("utf-8", "replace")
                text = unescape(texts.replace('\\"', '"'))
                assert all(re.search(f"脚注の.{{0,8}}本文{n}", text) for n in (1, 2))
                targets = set(re.findall(r"""(?:\(|href=")#([^")]+4bbb(?:-link)?)["')]""", text))
                assert targets <= set(re.findall(r'\bid="([^"]+)"', text)), "each link leads somewhere"
                labels = re.findall(r"\[\^([^\]]+)\](?!:)", text)
                assert set(labels) == set(re.findall(r"(?m)^\[\^([^\]]+)\]:", text))


async def test_an_entry_that_holds_a_forgotten_pattern_is_listed(tmp_path: Path) -> None:
    shown = '<!-- wp:block {"ref":62} /-->'
    items = [item(1, shown), item(2, "文"), pattern(62, "秘"), item(63, shown), pattern(64, "他")]
    await posts_of(tmp_path, *items)
    archive = Archive.open(tmp_path / "archive")
    found = find(archive, settings(), ForgettingRequest(entries=("62",)))
    assert found.mentions == [(Kind.ENTRIES, "1"), (Kind.ENTRIES, "63")]


async def test_a_gallery_shows_no_files_of_a_hidden_entry(tmp_path: Path) -> None:
    found = await posts_of(
        tmp_path,
        item(1, "".join(f'[gallery id="{n}"]' for n in (2, 3, 4, 5, 99))),
        item(2, "[gallery]", status="private"),
        item(3, "文", post_password="ひみつ"),
        item(4, "文", status="draft"),
        item(5, "文"),
        *(picture(10 + n, f"of-{n}.jpg", post_parent=n) for n in (2, 3, 4, 5, 99)),
    )
    assert re.findall(r"of-[0-9]+", found["1"].body) == ["of-5"]
    assert re.findall(r"of-[0-9]+", found["2"].body) == ["of-2"], "its own are in it"
