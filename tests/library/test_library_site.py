"""One site of several archives: moved posts once, links between blogs, private posts, corrections, and the folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from exporter import lossless_json
from exporter.errors import BlogExporterError, UsageError
from exporter.library.library_site import INDEX, LibraryBuilt, LibraryOptions, build_library
from exporter.library.same_posts import read_same_posts
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.settings import Settings, resolve
from tests.archive.builder import Built, record
from tests.cli.conftest import Program
from tests.site.building import stored

LONG = "砂の上に小さな足あとが続いていて、その先で波が消していく。母は貝を、わたしは丸い石をひとつ持って帰った。"
SAID = Declared(public_access=frozenset({"1"}), visible_comment_flags=frozenset({"f"}))
SECRET = "ひみつのことば"


def entry(number: int, title: str, text: str, day: int = 1, /, **other: Any) -> bytes:
    values = {
        "entry_id": str(number), "title": title, "entry_text": text, "open_flg": "1", "is_private": "f",
        "period_flg": "f", "year": "2012", "mon": "03", "day": f"{day:02d}", "hour": "21", "min": "04", "sec": "05",
    }  # fmt: skip
    return record(**{**values, **other})


def comment(number: int, of: int, name: str, text: str, **other: Any) -> bytes:
    return record(
        **{"cm_id": str(number), "entry_id": str(of), "name": name, "cm_text": text, "delete_flg": "f", **other}
    )


def blog(
    root: Path, blog_id: str, entries: Mapping[int, bytes], comments: Mapping[int, bytes] | None = None
) -> tuple[Path, Settings]:
    """Make the archive of a blog whose entries are at https://BLOG_ID/e/N."""
    built = Built(root, blog_id=blog_id)
    items = {str(each): record(entry_id=str(each), category="日々", open_flg="1", period_flg="f") for each in entries}
    built.commit(
        {
            Kind.ENTRIES: {str(number): each for number, each in entries.items()},
            Kind.ENTRY_LIST: items,
            Kind.COMMENTS: {str(number): each for number, each in (comments or {}).items()},
        }
    )
    return root, resolve({"entry_url": f"https://{blog_id}/e/{{entry_id}}"}, environ={})


Blogs = list[tuple[Path, Settings]]


@pytest.fixture
def blogs(tmp_path: Path) -> Blogs:
    """Two blogs: entry 1 of the first is entry 7 of the second; both have an entry 2."""
    old = blog(
        tmp_path / "old",
        "old.example",
        {1: entry(1, "足あと", LONG), 2: entry(2, "古い台所", "<p>鍋の話。</p>" + "鍋" * 40, 2)},
        {1: comment(1, 1, "なぎさ", "きれいですね"), 2: comment(2, 1, "みさき", "石を見たい")},
    )
    link = '<a href="http://old.example/e/1">最初の話</a>'
    new = blog(
        tmp_path / "new",
        "new.example",
        {
            7: entry(7, "足あと", f"<p>{LONG}</p>"),
            2: entry(2, "新しい台所", f"<p>{link}と<a href='/e/7'>ここ</a></p>", 9),
        },
        # Comment 7 has the ID of the entry that moved.
        {1: comment(1, 7, "なぎさ", "<p>きれいですね</p>"), 7: comment(7, 7, "うしお", "引っ越しおめでとう")},
    )
    return [old, new]


def build(blogs: Blogs, out: Path, **options: Any) -> LibraryBuilt:
    return build_library(blogs, out, LibraryOptions(**options), lambda *_: SAID)


def pages(out: Path) -> dict[str, str]:
    """Return the pages of entries by their titles."""
    found = {}
    for path in (out / "entry").iterdir():
        page = path.read_text("utf-8")
        title = re.search(r"<h1 [^>]*>(.*?)</h1>", page)
        assert title is not None
        found[title[1]] = page
    return found


def data(path: Path) -> Any:
    """Return the value that a script hands to the site."""
    text = path.read_bytes()
    return lossless_json.loads(b"[" + text[text.index(b"(") + 1 : text.rindex(b")")] + b"]")[2]


def test_a_moved_post_appears_once_with_both_addresses_and_the_comments_of_both(blogs: Blogs, tmp_path: Path) -> None:
    built = build(blogs, tmp_path / "out", language="en")
    found = pages(tmp_path / "out")
    assert sorted(found) == ["古い台所", "新しい台所", "足あと"]
    page = found["足あと"]
    assert "https://old.example/e/1" in page
    assert "https://new.example/e/7" in page
    assert re.search(r"<h2>In\s2\sblogs</h2>", page)
    said = re.findall(r'<div class="body" lang="ja">(.*?)</div>', page)
    assert [re.sub("<[^>]*>", "", each) for each in said if LONG not in each] == [
        "きれいですね",
        "石を見たい",
        "引っ越しおめでとう",
    ]
    assert built.moved == 1
    assert [[each["address"] for each in pair["posts"]] for pair in built.document["moved"]] == [
        ["https://old.example/e/1", "https://new.example/e/7"]
    ]


def test_links_between_blogs_lead_to_the_local_page(blogs: Blogs, tmp_path: Path) -> None:
    build(blogs, tmp_path / "out")
    found = pages(tmp_path / "out")
    links = re.findall(r'<p><a href="([^"]*)"[^>]*>最初の話</a>と<a href="([^"]*)"', found["新しい台所"])
    assert len(links) == 1
    assert links[0][0] == links[0][1]
    assert (tmp_path / "out/entry" / links[0][0]).resolve().read_text("utf-8") == found["足あと"]
    assert 'id="mentions"' in found["足あと"]


def test_equal_ids_and_equal_blogs_do_not_mix(tmp_path: Path) -> None:
    texts = "あ" * 30 + "甲", "い" * 30 + "乙"
    twins = [
        blog(tmp_path / f"b{at}", "same.example", {1: entry(1, f"題{at}", texts[at], 3 + at)}, {1: comment(1, 1, f"人{at}", "声")})
        for at in (0, 1)
    ]  # fmt: skip
    built = build(twins, tmp_path / "out")
    found = pages(tmp_path / "out")
    assert sorted(found) == ["題0", "題1"]
    assert "人0" in found["題0"]
    assert "人1" not in found["題0"]
    assert [each["key"] for each in built.document["blogs"]] == ["same.example", "same.example_2"]
    assert len({each["title"] for each in built.document["blogs"]}) == 2


def test_the_search_knows_the_blogs_of_each_entry(blogs: Blogs, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(blogs, out)
    rows = [row for path in (out / "data").glob("texts-*.js") for row in data(path)]
    assert {row[2]: row[7][5] for row in rows} == {"足あと": [1, 2], "古い台所": [1], "新しい台所": [2]}
    assert data(out / "data/words.js")["blogs"] == [["old.example", 1], ["new.example", 2]]
    assert 'name="blog"' in (out / "search.html").read_text("utf-8")


def test_a_text_that_another_blog_says_differently_is_kept_and_searched(tmp_path: Path) -> None:
    blogs = [
        blog(tmp_path / "a", "a.example", {1: entry(1, "足あと", LONG * 3)}),
        blog(tmp_path / "b", "b.example", {1: entry(1, "足あと", f"{LONG * 3}<p>追記: 珊瑚でした。</p>")}),
    ]
    build(blogs, tmp_path / "out", language="en")
    page = pages(tmp_path / "out")["足あと"]
    assert re.search(r"<summary>The text in .*b\.example.*</summary>", page)
    assert "珊瑚でした" in page
    (texts,) = (tmp_path / "out/data").glob("texts-*.js")
    assert "珊瑚でした" in texts.read_text("utf-8")


def test_an_entry_is_gone_only_if_every_blog_lost_it(blogs: Blogs, tmp_path: Path) -> None:
    old = Built.reopen(blogs[0][0])
    gone = {"1": None, "2": None}
    old.commit({Kind.ENTRIES: gone, Kind.ENTRY_LIST: gone})
    build(blogs, tmp_path / "out", language="en")
    found = pages(tmp_path / "out")
    assert "data-gone" in found["古い台所"]
    assert "data-gone" not in found["足あと"]
    assert '<span class="badge gone">gone</span>' in found["足あと"]
    assert "鍋の話" in found["古い台所"]


@pytest.mark.parametrize("hidden", ["old", "new"])
def test_a_public_library_leaves_out_a_post_that_one_blog_hides(hidden: str, tmp_path: Path) -> None:
    text = LONG + SECRET
    private = {"old": {}, "new": {}, hidden: {"is_private": "t"}}
    blogs = [
        blog(
            tmp_path / name,
            f"{name}.example",
            {1: entry(1, "足あと" + SECRET, text, **private[name]), 2: entry(2, f"{name}の題", f"{name}" * 20, 5 + at)},
            {1: comment(1, 1, "人", SECRET), 2: comment(2, 2, "人", f"{name}の声")},
        )
        for at, name in enumerate(("old", "new"))
    ]
    out = tmp_path / "out"
    built = build(blogs, out, public=True)
    assert sorted(pages(out)) == ["newの題", "oldの題"]
    for path in [*out.rglob("*"), Path(f"{out}.report.json")]:
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    assert built.document["left_out"]["entries"] == 2
    assert built.document["moved"] == []
    assert built.document["doubtful"] == []
    everything = build(blogs, tmp_path / "all")
    (page,) = (page for title, page in pages(tmp_path / "all").items() if SECRET in title)
    assert 'class="badge private"' in page
    assert everything.moved == 1


def test_a_public_library_leaves_out_a_comment_that_one_blog_hides(blogs: Blogs, tmp_path: Path) -> None:
    Built.reopen(blogs[1][0]).commit({Kind.COMMENTS: {"1": comment(1, 7, "なぎさ", "きれいですね", delete_flg="t")}})
    build(blogs, tmp_path / "out", public=True)
    page = pages(tmp_path / "out")["足あと"]
    assert "きれいですね" not in page
    assert "石を見たい" in page
    assert "引っ越しおめでとう" in page


def test_nothing_is_public_before_the_owner_says_so(blogs: Blogs, tmp_path: Path, program: Program) -> None:
    out = tmp_path / "out"
    words = ["library", "build", *(str(path) for path, _ in blogs), "--out", str(out), "--public-only"]
    done = program(*words)
    assert done.code == 2
    assert "old.example" in done.err
    assert not out.exists()
    assert program(*words, "--public-open-flg", "1", "--visible-delete-flg", "f").code == 0


def test_a_person_can_correct_which_posts_are_the_same(blogs: Blogs, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.toml"
    pairs.write_text('different = [["http://old.example/e/1", "new.example/7"]]\n', "utf-8")
    build(blogs, tmp_path / "apart", pairs=pairs)
    assert len(list((tmp_path / "apart/entry").iterdir())) == 4
    pairs.write_text('same = [["old.example/2", "https://new.example/e/2"]]\n', "utf-8")
    built = build(blogs, tmp_path / "joined", pairs=pairs)
    assert len(list((tmp_path / "joined/entry").iterdir())) == 2
    assert {pair["score"] is None for pair in built.document["moved"]} == {True, False}
    pairs.write_text('same = [["old.example/2", "https://new.example/e/404"]]\n', "utf-8")
    with pytest.raises(UsageError, match="e/404"):
        build(blogs, tmp_path / "wrong", pairs=pairs)


@pytest.mark.parametrize(
    "text", ["same = 1", 'same = ["a"]', 'same = [["a"]]', "same = [[1, 2]]", "other = []", "=", "\xff"]
)
def test_a_wrong_file_of_pairs_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"pairs\.toml"):
        read_same_posts(path)


def contents(root: Path) -> dict[str, bytes]:
    """Return the files in a folder, without an archive's cache for its readers."""
    found = {path.relative_to(root): path for path in sorted(root.rglob("*")) if path.is_file()}
    return {str(name): path.read_bytes() for name, path in found.items() if name.parts[0] != ".work"}


def test_a_second_build_writes_only_what_changed(blogs: Blogs, tmp_path: Path) -> None:
    out, before = tmp_path / "out", [contents(path) for path, _ in blogs]
    first = build(blogs, out)
    assert [contents(path) for path, _ in blogs] == before
    written = contents(out)
    assert build(blogs, out, force=True).made == 0
    assert contents(out) == written
    Built.reopen(blogs[0][0]).commit({Kind.COMMENTS: {"3": comment(3, 1, "いさな", "また来ます")}})
    again = build(blogs, out, force=True)
    assert 0 < again.made < first.made / 2
    fresh = build(blogs, tmp_path / "fresh")
    assert fresh.made == first.made
    assert contents(out) == contents(tmp_path / "fresh")


def test_a_library_replaces_only_an_unchanged_library(blogs: Blogs, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "letter.txt").write_text("mine", "utf-8")
    with pytest.raises(UsageError, match="no export made it"):
        build(blogs, out, force=True)
    (out / "letter.txt").unlink()
    build(blogs, out)
    with pytest.raises(UsageError, match="--force"):
        build(blogs, out)
    (out / INDEX).write_text("[]\n", "utf-8")
    with pytest.raises(UsageError, match="out"):
        build(blogs, out, force=True)


def test_an_archive_named_twice_or_around_the_folder_is_refused(blogs: Blogs, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="named twice"):
        build([blogs[0], (blogs[0][0] / "../old", blogs[0][1])], tmp_path / "out")
    for out in (blogs[0][0] / "out", blogs[0][0], tmp_path):
        with pytest.raises(UsageError):
            build(blogs, out)


def test_pictures_of_all_blogs_are_in_the_folder(blogs: Blogs, tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n"
    url = "https://img.example/a.png"
    for at, (path, _) in enumerate(blogs):
        asset = stored(path, url, png + bytes([at]), refs=[{"entry": "2"}])
        text = f'<img src="{url}">'
        changed = {"2": entry(2, f"台所{at}", text + "鍋と皿" * 9, 5 + at)}
        Built.reopen(path).commit({Kind.ENTRIES: changed, Kind.ASSETS: {url: record(**asset.data())}})
    build(blogs, tmp_path / "out")
    found = pages(tmp_path / "out")
    shown = [re.findall(r"assets/../[0-9a-f]{64}\.png", found[f"台所{at}"]) for at in (0, 1)]
    assert shown[0]
    assert shown[1]
    assert set(shown[0]).isdisjoint(shown[1])
    assert all((tmp_path / "out" / path).is_file() for path in (*shown[0], *shown[1]))


HOSTILE = "</script><img src=x onerror=alert(1)>\u202e悪\x00"


def test_hostile_records_and_names_stay_text(tmp_path: Path) -> None:
    wrong: list[Any] = [None, 7, [], {}, "", True, "9" * 400, "\ud800"]
    names = ["entry_id", "title", "entry_text", "year", "mon", "open_flg", "is_private", "category_id"]
    entries = {
        at + 2: entry(at + 2, HOSTILE, HOSTILE, **{name: value})
        for at, (name, value) in enumerate(zip(names, wrong, strict=True))
    }
    comments = {at: comment(at, at + 1, HOSTILE, HOSTILE, entry_id=value) for at, value in enumerate(wrong, 1)}
    blogs = [
        blog(tmp_path / "a", "a.example", {1: entry(1, HOSTILE, LONG + HOSTILE), **entries}, comments),
        blog(tmp_path / "b", "b.example", {1: entry(1, HOSTILE, LONG + HOSTILE), **entries}, comments),
    ]
    (blogs[0][0] / "settings.toml").write_text(f'site_title = "{HOSTILE[:-1]}"\n', "utf-8")
    named = [
        (path, resolve({"entry_url": "https://x.example/{entry_id}", "site_title": HOSTILE}, environ={}))
        for path, _ in blogs
    ]
    build(named, tmp_path / "out")
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix in {".html", ".js"} and "static" not in path.parts:
            text = path.read_text("utf-8")
            assert not re.search("<img src=x|</script><img|\x00", text), path


def test_a_damaged_archive_ends_the_build_without_a_folder(blogs: Blogs, tmp_path: Path) -> None:
    for part in ("versions/000001/entries.jsonl", "latest/entries.jsonl"):
        path = blogs[1][0] / part
        if path.exists():
            path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BlogExporterError):
        build(blogs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
