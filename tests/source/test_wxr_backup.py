"""WXR files are backed up through the library: again, edited, shortened, in parts, and damaged."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.verify import verify
from exporter.errors import MassDisappearance, ServiceError
from exporter.model.kinds import Kind
from exporter.model.records import Audience, PostKind
from exporter.service.wxr.source import WxrFile
from tests.cli.conftest import Program
from tests.service.wxr_samples import channel, comment, item, meta, picture, terms
from tests.source.wxr_backups import saved, settings, state_of

ITEMS = [
    item(1, "一行目\n二行目", categories=terms([("category", "%e5%af%ba", "寺")]), extra=comment(1) + comment(2, comment_parent=1)),
    item(2, extra=meta("_thumbnail_id", "9")),
    item(3, status="draft", post_date_gmt="0000-00-00 00:00:00"),
    item(4, status="private"),
    item(5, post_type="page", post_name="about"),
    item(6, post_password="ひみつ"),
    item(7, post_type="nav_menu_item", status="publish"),
    item(8, post_type="feedback"),
    picture(9),
]  # fmt: skip


def written(path: Path, *items: str) -> Path:
    path.write_text(channel(*(items or ITEMS)), "utf-8")
    return path


async def test_a_file_is_backed_up_and_a_second_run_finds_no_change(tmp_path: Path) -> None:
    root, path = tmp_path / "archive", written(tmp_path / "blog.xml")
    first = await saved(path, root)
    assert (first.outcome.exit_code, first.outcome.version, first.outcome.problems) == (0, 1, [])
    assert first.outcome.completeness is not None
    assert first.outcome.completeness["complete"] is True
    found = state_of(root)
    assert sorted(found[Kind.ENTRIES]) == ["1", "2", "3", "4", "5", "6", "8"]
    assert sorted(found[Kind.COMMENTS]) == ["1", "2"]
    assert sorted(found[Kind.FILES]) == ["9"]
    assert list(found[Kind.USER]) == ["blog"]
    assert found[Kind.COMMENTS]["2"]["post_id"] == "1"
    service = WxrFile()
    posts = {key: service.post(raw, found[Kind.ENTRY_LIST][key]) for key, raw in found[Kind.ENTRIES].items()}
    assert {key: post.audience for key, post in posts.items()} == {
        "1": Audience.PUBLIC, "2": Audience.PUBLIC, "3": Audience.DRAFT, "4": Audience.PRIVATE, "5": Audience.PUBLIC,
        "6": Audience.PASSWORD, "8": Audience.PRIVATE,
    }  # fmt: skip
    assert posts["5"].kind is PostKind.PAGE
    assert posts["1"].categories[0].parents == ("旅", "京都")
    assert posts["2"].featured == "https://blog.example/wp-content/uploads/2024/04/umi.jpg"
    assert found[Kind.ENTRY_LIST]["1"]["comments"] == 2
    again = await saved(path, root)
    assert (again.outcome.exit_code, again.outcome.version) == (0, None)
    assert not list(verify(Archive.open(root)))


async def test_a_new_export_of_the_same_blog_makes_no_version(tmp_path: Path) -> None:
    root, path = tmp_path / "archive", written(tmp_path / "blog.xml")
    await saved(path, root)
    later = path.read_text("utf-8").replace("2024-05-01 00:00", "2024-06-01 00:00")
    path.write_text(later.replace("Wed, 01 May 2024 00:00:00", "Sat, 01 Jun 2024 00:00:00"), "utf-8")
    again = await saved(path, root)
    counts = again.outcome.counts
    assert all(not counts[str(kind)].changed for kind in Kind if kind is not Kind.ASSETS), counts


async def test_an_edited_entry_is_one_change(tmp_path: Path) -> None:
    root, path = tmp_path / "archive", written(tmp_path / "blog.xml")
    await saved(path, root)
    edited = item(2, "書き直しました。", extra=meta("_thumbnail_id", "9"))
    written(path, ITEMS[0], edited, *ITEMS[2:])
    second = await saved(path, root)
    assert second.outcome.version == 2
    counts = second.outcome.counts
    assert (counts["entries"].changed, counts["entries"].new, counts["entries"].gone) == (1, 0, 0)
    assert counts["comments"].changed == 0


async def test_a_missing_entry_becomes_a_tombstone_with_the_evidence(tmp_path: Path) -> None:
    root, path = tmp_path / "archive", written(tmp_path / "blog.xml")
    await saved(path, root)
    written(path, *ITEMS[1:])
    second = await saved(path, root)
    assert second.outcome.exit_code == 0
    lines = (root / "versions" / "000002" / "entries.jsonl").read_text("utf-8")
    assert '"op":"remove","id":"1"' in lines
    assert '"absent_in_file":"blog.xml"' in lines
    assert second.outcome.counts["comments"].gone == 2


@pytest.mark.parametrize("packed", [True, False])
async def test_parts_are_one_blog_and_a_picture_may_be_in_a_later_part(tmp_path: Path, packed: bool) -> None:
    parts = [channel(*ITEMS[:3]), channel(*ITEMS[3:6]), channel(*ITEMS[6:])]
    root, place = tmp_path / "archive", tmp_path / "parts"
    if packed:
        place = tmp_path / "blog.wordpress.2024-05-01.zip"
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as zipped:
            for number, part in enumerate(parts):
                zipped.writestr(f"blog/blog.wordpress.2024-05-01.{number:03}.xml", part)
    else:
        place.mkdir()
        for number, part in enumerate(parts):
            (place / f"{number:03}.xml").write_text(part, "utf-8")
    whole = tmp_path / "whole"
    await saved(written(tmp_path / "blog.xml"), whole)
    made = await saved(place, root)
    assert (made.outcome.exit_code, made.outcome.problems) == (0, [])
    one, other = state_of(whole), state_of(root)
    for kind in (Kind.ENTRIES, Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES, Kind.USER):
        assert one[kind] == other[kind]


async def test_a_cut_file_keeps_what_it_has_is_incomplete_and_proves_no_removal(tmp_path: Path) -> None:
    root, path = tmp_path / "archive", written(tmp_path / "blog.xml")
    await saved(path, root)
    data = path.read_bytes()
    path.write_bytes(data[: data.index(b"<wp:post_id>8<")])
    second = await saved(path, root)
    assert second.outcome.exit_code == 3
    assert len(second.outcome.problems) == 1
    assert "line" in second.outcome.problems[0].reason
    assert second.outcome.counts["entries"].gone == second.outcome.counts["files"].gone == 0
    assert "9" in state_of(root)[Kind.FILES]


async def test_a_mass_disappearance_is_refused(tmp_path: Path) -> None:
    root, path = tmp_path / "archive", tmp_path / "blog.xml"
    await saved(written(path, *(item(number) for number in range(1, 21))), root)
    written(path, item(1))
    with pytest.raises(MassDisappearance):
        await saved(path, root)


async def test_a_file_with_entities_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "blog.xml"
    path.write_text(channel(*ITEMS).replace("<rss", '<!DOCTYPE rss [<!ENTITY a "b">]>\n<rss', 1), "utf-8")
    with pytest.raises(ServiceError, match="defines XML entities") as caught:
        await saved(path, tmp_path / "archive")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "archive").exists()


async def test_the_site_and_exports_show_the_blog(tmp_path: Path) -> None:
    root, path = tmp_path / "archive", written(tmp_path / "blog.xml")
    made = await saved(path, root, settings(site="yes", markdown="yes"))
    assert made.outcome.exit_code == 0
    pages = "".join(each.read_text("utf-8") for each in (root / "latest" / "site").rglob("*.html"))
    assert "一行目<br>" in pages
    assert "reader@mail.example" not in pages
    texts = "".join(each.read_text("utf-8") for each in (root / "latest" / "markdown").rglob("*.md"))
    assert "ひみつ" not in texts


def test_a_gallery_in_another_order_is_a_change_in_words(tmp_path: Path, program: Program) -> None:
    root, path = tmp_path / "archive", tmp_path / "blog.xml"
    numbers = ("5,6", (1, 2)), ("5,6", (2, 1)), ("6,5", (2, 1))
    changes: list[str] = []
    for ids, orders in numbers:
        pictures = [picture(5 + n, f"{'ab'[n]}.jpg", post_parent=1, menu_order=order) for n, order in enumerate(orders)]
        entries = item(1, "[gallery]"), item(2, f'[gallery ids="{ids}"]')
        written(path, *entries, *(pictures if orders == (1, 2) else pictures[::-1]))
        assert program("backup", path, "--archive", root, "--assets", "none", "--no-site").code == 0
        changes.append(program("diff", root).out if changes else "")
    for found in changes:
        assert "attachments" not in found
    assert "Files of its galleries: [-a-]{+b+}.jpg, [-b-]{+a+}.jpg" in changes[1]
    assert "entry 1 " not in changes[2]
