"""Links and marks of emphasis are compared in every kind of home, and a harmless change of either is no difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.compare.archived import old_posts
from exporter.compare.folder import FolderHome
from exporter.compare.marks import lost_links, lost_passages
from exporter.compare.posts import Aspect, Fault, Linked, Scope, Unchecked
from exporter.compare.reconcile import Comparison
from exporter.compare.report import verdict
from exporter.export.interface import ExportOptions
from exporter.export.post_html import safe_body
from exporter.export.posts import Posts
from exporter.export.report import Report
from exporter.html.markdown import to_markdown
from exporter.library.compare import Arrivals, compare
from tests.compare.damage import BODY, DAMAGES
from tests.compare.posts import left_open
from tests.compare.test_losses import OWNER, compared, named
from tests.export.memory import SAID, Memory
from tests.wordpress.fake import running_wordpress

NAMES = list(DAMAGES)
DAMAGED_LINKS = {
    "exchanged": (
        '<a href="https://a.example/">山の頁</a><a href="https://b.example/">海の頁</a>',
        '<a href="https://b.example/">山の頁</a><a href="https://a.example/">海の頁</a>',
        {Fault.LINK_ELSEWHERE},
    ),
    "lost beside a frame": (
        '<a href="#n">注へ</a><iframe src="https://video.example/1"></iframe>',
        '注へ<iframe src="https://video.example/1"></iframe>',
        {Fault.LINK_ELSEWHERE},
    ),
    "another mail address": (
        '<a href="mailto:a@example.jp">手紙</a>', '<a href="mailto:b@example.jp">手紙</a>', {Fault.LINK_ELSEWHERE},
    ),
    "the same mail address": ('<a href="MAILTO:a@example.jp">手紙</a>', '<a href="mailto:a@example.jp">手紙</a>', set()),
    "a longer text": ('<a href="https://a.example/">山</a>の頁', '<a href="https://a.example/">山の頁</a>', set()),
    "in a frame": ('<a href="https://v.example/1"></a>', '<iframe src="https://v.example/1"></iframe>', set()),
    "italic by a style": ('<span style="font-style:italic">斜めの字</span>', "斜めの字", {Fault.ITALIC}),
    "code stressed by its editor": (
        '<pre><span style="font-weight:bold">for</span> x</pre>', "<pre><code>for x</code></pre>", set(),
    ),
}  # fmt: skip
HARMLESS = {
    "nofollow": ('<a href="https://other', '<a target="_blank" rel="nofollow noopener" href="https://other'),
    "scheme": ("https://other", "http://OTHER"),
    "spelling": ("%E6%B5%B7", "海"),
    "tags": ("<b>太字</b>と<i>斜体</i>", "<strong>太</strong><strong>字</strong>と<em>斜体</em>"),
    "more": ("項目<ul>", "<b>項目</b><ul>"),
}


def expected(bodies: list[str]) -> Arrivals:
    """Return the entries that should have arrived, one for each body."""
    blog = Memory()
    for number, body in enumerate(bodies, 1):
        blog.entry(str(number), title=f"題{number}", name=f"entry-{number}", entry_text=body, sec=f"{number:02}")
    posts = Posts(blog, ExportOptions(declared=SAID), Report(), holds_back=True)
    return Arrivals(list(old_posts(posts, asked=True)), frozenset(), {})


async def in_folder(folder: Path, arrivals: Arrivals, shown: list[str], *, markdown: bool) -> Comparison:
    """Compare entries with a folder of pages or of Markdown that shows these bodies."""
    for old, body in zip(arrivals.posts, shown, strict=True):
        if markdown:
            text = f"---\ntitle: {old.title}\nslug: entry-{old.id}\n---\n{to_markdown(body).text}\n"
            (folder / f"entry-{old.id}.md").write_text(text, "utf-8")
        else:
            page = f"<title>{old.title}</title><article>{safe_body(body)}</article>"
            (folder / f"entry-{old.id}.html").write_text(page, "utf-8")
    scope = Scope(frozenset({Aspect.TEXT, Aspect.LINKS, Aspect.FORMATTING}))
    return (await compare(FolderHome(folder, lambda _: None), arrivals, scope)).comparison


async def in_wordpress(arrivals: Arrivals, shown: list[str]) -> Comparison:
    """Compare entries with a WordPress that shows these bodies."""
    async with running_wordpress() as home:
        for old, body in zip(arrivals.posts, shown, strict=True):
            assert old.when is not None
            date = old.when.replace(tzinfo=None).isoformat()
            home.post(old.title, body, date, slug=f"entry-{old.id}", categories=(old.category,))
        return await compared(home, arrivals, OWNER)


async def test_sixteen_kinds_of_damage_are_found_in_a_wordpress() -> None:
    arrivals = expected([BODY] * (len(DAMAGES) + 1))
    found = await in_wordpress(arrivals, [BODY, *(damage(BODY) for damage, _ in DAMAGES.values())])
    assert named(found) == {str(number): faults for number, (_, faults) in enumerate(DAMAGES.values(), 2)}
    (bold,) = (each for result in found.results for each in result.differences if each.change is Fault.BOLD)
    assert (bold.before, bold.after) == ("太字", "")


@pytest.mark.parametrize("markdown", [False, True])
async def test_damage_is_found_in_pages_and_sources(tmp_path: Path, *, markdown: bool) -> None:
    not_seen = {"colour removed"} | ({"line break lost"} if markdown else set())
    arrivals = expected([BODY] * (len(DAMAGES) + 1))
    shown = [BODY, *(damage(BODY) for damage, _ in DAMAGES.values())]
    found = await in_folder(tmp_path, arrivals, shown, markdown=markdown)
    rows = enumerate(DAMAGES.items(), 2)
    assert named(found) == {str(number): faults for number, (name, (_, faults)) in rows if name not in not_seen}
    (styles,) = (each for each in found.unchecked if each.aspect is Aspect.FORMATTING)
    assert (styles.count, styles.asked) == (len(DAMAGES) + 1, False)


async def test_harmless_changes_are_no_difference() -> None:
    shown = [BODY.replace(*change) for change in HARMLESS.values()]
    assert all(body != BODY for body in shown)
    assert named(await in_wordpress(expected([BODY] * len(shown)), shown)) == {}


async def test_all_lost_marks_and_links_of_an_entry_are_named(tmp_path: Path) -> None:
    plain = "<p>前の太字と太字。よそ</p>"
    arrivals = expected(['<p>前の<b>太字</b>と<b>太字</b>。<a href="https://other.example/">よそ</a></p>'])
    found = await in_folder(tmp_path, arrivals, [plain], markdown=False)
    assert [(each.change, each.before) for each in found.results[0].differences] == [
        (Fault.LINK_ELSEWHERE, "よそ https://other.example/"), (Fault.BOLD, "太字"), (Fault.BOLD, "太字"),
    ]  # fmt: skip
    assert not found.whole


async def test_a_frame_stands_for_the_video_whose_address_was_alone_on_its_line() -> None:
    frame = '<iframe title="海" src="https://www.youtube.com/embed/{}?feature=oembed" allowfullscreen></iframe>'
    sea, hill = "a-b_c123456", "Zz123456789"
    rows = [
        (f"前\nhttps://youtu.be/{sea}\n後", f"<p>前</p>\n{frame.format(sea)}\n<p>後</p>", set()),
        (f"<p>https://www.youtube.com/watch?v={hill}</p>\n後", f"<p>{frame.format(hill)}</p>\n<p>後</p>", set()),
        (f"前\nhttps://youtu.be/{hill}\n後", f"<p>前</p>\n{frame.format(sea)}\n<p>後</p>", {Fault.TEXT}),
        (f"前\nhttps://youtu.be/{hill}\n後\n末", f"<p>前</p>{frame.format(hill)}<p>後末</p>", {Fault.LINE_BREAKS}),
        (f"前\nhttps://youtu.be/{hill}\n後", "<p>前</p>\n<p>後</p>", {Fault.TEXT}),
        (f"{frame.format(hill)}\nhttps://youtu.be/{hill}\n後", f"{frame.format(hill)}<p>後</p>", {Fault.TEXT}),
    ]
    found = await in_wordpress(expected([before for before, _, _ in rows]), [after for _, after, _ in rows])
    assert named(found) == {str(number): faults for number, (_, _, faults) in enumerate(rows, 1) if faults}


async def test_links_and_styles_are_told_from_similar_ones() -> None:
    arrivals = expected([before for before, _, _ in DAMAGED_LINKS.values()])
    found = await in_wordpress(arrivals, [after for _, after, _ in DAMAGED_LINKS.values()])
    wanted = {str(number): faults for number, (_, _, faults) in enumerate(DAMAGED_LINKS.values(), 1) if faults}
    assert named(found) == wanted


def test_as_many_lost_links_as_passages_are_named() -> None:
    links = [Linked(f"https://a.example/{number}", f"語{number}", False) for number in range(20_000)]
    frames = [f"https://b.example/{number}" for number in range(20_000)]
    lost = lost_links(links, [], frames)
    assert (len(lost.found), lost.unsearched) == (2_000, 18_000)
    assert lost_links(links, links[::-1], frames) == ([], 0)


@pytest.mark.parametrize(("olds", "news", "lost"), [
    (["海", "山"], ["山", "海"], []), (["海辺"], ["海", "辺"], []), (["海", "辺"], ["海辺"], []),
    (["海", "海辺"], ["海辺"], ["海"]), (["海", "海"], ["海"], ["海"]), (["海"], [], ["海"]), (["海"], ["前海後"], []),
    (["海"] * 3_000, [], ["海"] * 2_000),
])  # fmt: skip
def test_passages_are_found_however_they_are_split(olds: list[str], news: list[str], lost: list[str]) -> None:
    assert lost_passages(olds, news) == (lost, len(olds) - 2_000 if len(olds) > 2_000 else 0)


async def test_marks_beyond_the_limit_are_named_as_not_compared(tmp_path: Path) -> None:
    before = f"<p>{''.join(f'<b>前{n}後</b>。' for n in range(2_000))}<b>太い字</b></p>"
    after = before.replace("後</b>", "</b><b>後</b>").replace("<b>太い字</b>", "太い字")
    found = await in_folder(tmp_path, expected([before]), [after], markdown=False)
    assert named(found) == {}
    why = "they have over 2,000 passages that the new home splits or lost"
    assert left_open(found) == [Unchecked(Aspect.FORMATTING, 1, why)]
    assert verdict(found).endswith("but these could not be compared: formatting")
    assert not found.whole
