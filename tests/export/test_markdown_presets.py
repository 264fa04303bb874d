"""The presets of Markdown folders: front matter, and the places of pages and pictures."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from exporter.export.interface import Preset, Side
from exporter.html.links import AddressPattern
from tests.export.hostile import ENTRIES, entry_word, hostile_export
from tests.export.memory import BLOG, Made, Memory, export

LINKED: dict[str, Any] = {"old_urls": (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)}
every_preset = pytest.mark.parametrize("preset", Preset)


def notes(made: Made) -> dict[str, str]:
    pages = {name: data.decode() for name, data in made.files.items() if name.endswith(".md")}
    return {name: text for name, text in pages.items() if not name.startswith("daily/")}


def head(text: str) -> dict[str, Any]:
    return dict(yaml.safe_load(text.split("---\n")[1]))


def one(**changes: Any) -> Memory:
    blog = Memory()
    blog.entry("1", **{"title": "海", "year": "2024", "mon": "03", "day": "05", **changes})
    return blog


@every_preset
def test_every_hostile_entry_is_in_a_page(preset: Preset) -> None:
    pages = notes(hostile_export("markdown", preset=preset))
    assert len(pages) == ENTRIES
    assert all(entry_word(number) in "".join(pages.values()) for number in range(1, ENTRIES + 1))
    assert all(head(text)["title"] for text in pages.values())


@every_preset
def test_drafts_are_in_a_folder_that_generators_ignore(preset: Preset) -> None:
    assert [*notes(export("markdown", one(open_flg="2"), side=Side.REST, preset=preset))] == [
        "drafts/2024-03-05-海-1.md"
    ]


def test_astro_gets_a_description_and_its_own_date_field() -> None:
    long = "x" * 200
    pages = notes(export("markdown", one(entry_text=f"<p>{long}</p>"), preset=Preset.ASTRO))
    (found,) = [head(text) for name, text in pages.items() if name == "src/content/blog/2024-03-05-海-1.md"]
    assert (found["title"], found["description"], found["tags"]) == ("海", f"{'x' * 119}…", ["日記"])
    assert found["pubDate"].date().isoformat() == "2024-03-05"
    assert found["slug"] == "2024-03-05-海-1"
    assert head(*notes(export("markdown", one(entry_text=""), preset=Preset.ASTRO)).values())["description"] == "海"


def test_eleventy_gets_tags_and_marked_drafts() -> None:
    ((name, text),) = notes(export("markdown", one(), preset=Preset.ELEVENTY)).items()
    assert name == "content/blog/2024-03-05-海-1.md"
    assert (head(text)["tags"], head(text).get("draft")) == (["日記"], None)
    (text,) = notes(export("markdown", one(open_flg="2"), side=Side.REST, preset=Preset.ELEVENTY)).values()
    assert head(text)["draft"] is True


def note(body: str, **changes: Any) -> str:
    blog = one(entry_text=body, **changes)
    blog.entry("2", title="山 | [x]", year="2024", mon="03", day="06")
    blog.picture("https://files.example.jp/a.png", entry_id="1")
    made = export("markdown", blog, preset=Preset.OBSIDIAN, **LINKED)
    assert set(made.copies) == {name for name in made.copies if name.startswith("attachments/a-")}
    found = made.files["posts/2024-03-05-海-1.md"].decode().split("---\n\n")[1]
    for picture in made.copies:
        found = found.replace(picture.removeprefix("attachments/"), "A.png")
    return found.strip()


PICTURE = '<img src="https://files.example.jp/a.png" alt="{}">'
ENTRY = f'<a href="https://{BLOG}/Entry/2/{{}}">{{}}</a>'


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (PICTURE.format("港"), "![[A.png|港]]"),
        (PICTURE.format("a*b"), "![[A.png|a*b]]"),
        (PICTURE.format("300"), "![[A.png]]"),
        (PICTURE.format("a|b"), "![[A.png]]"),
        (
            f'<a href="https://files.example.jp/a.png">{PICTURE.format("港")}</a>',
            "[![港](attachments/A.png)](attachments/A.png)",
        ),
        ('<a href="https://files.example.jp/a.png">大きく</a>', "[[A.png|大きく]]"),
        (ENTRY.format("", "次"), "[[2024-03-06-山-x-2|次]]"),
        (ENTRY.format("#c5", "次"), "[[2024-03-06-山-x-2|次]]"),
        ("<pre>![a](attachments/other.png)</pre>", "```\n![a](attachments/other.png)\n```"),
        ("[[山]] %%x%%", r"\[\[山]] \%\%x\%\%"),
        ("<code>[[a]]</code> [[b]]", r"`[[a]]` \[\[b]]"),
        ("<pre>%%\n[[a]]</pre>", "```\n%%\n[[a]]\n```"),
        ("#海 <b>#山</b> C# ![[a]]<br>#川", "\\#海 **\\#山** C# !\\[\\[a]]\\\n\\#川"),
        ("==印== $x$ 注^[a] 段落 ^a-1", r"\=\=印\=\= \$x\$ 注\^[a] 段落 \^a-1"),
        ("<ul><li>[-] 海</ul>", r"- \[-] 海"),
        ("https://a.example/#x?y==1 <code>#a ==b==</code>", "https://a.example/#x?y==1 `#a ==b==`"),
        ("<details>[[a]] %%b%% #c</details>", "<details>&#91;&#91;a]] &#37;&#37;b&#37;&#37; #c</details>"),
        ("<pre class=language-mermaid>a</pre><pre class=language-js>b</pre>", "```\na\n```\n\n```js\nb\n```"),
        ("<ul><li><input type=checkbox checked> 海</ul>", "- [x] 海"),
    ],
)
def test_links_of_a_vault(body: str, shown: str) -> None:
    assert note(body) == shown


def test_no_link_to_a_note_is_an_address() -> None:
    cell = f"<table><tr><td>{ENTRY.format('', '次')}<table><tr><td>x</td></tr></table></td></tr></table>"
    assert "posts-of-this-vault" not in note(cell)
    assert "2024-03-06-" in note(cell)


def test_a_table_keeps_its_cells_with_links_of_a_vault() -> None:
    cells = f"<tr><th>a</th><th>b</th></tr><tr><td>{PICTURE.format('港')}</td><td>{ENTRY.format('', '次')}</td></tr>"
    assert "| ![[A.png\\|港]] | [[2024-03-06-山-x-2\\|次]] |" in note(f"<table>{cells}</table>")


@pytest.mark.parametrize(
    ("category", "tag"), [("日記", "日記"), ("a b/c #d", "a-b/c-d"), ("2024", "_2024"), ("!!", "_"), ("海/", "海")]
)
def test_a_category_becomes_a_tag_in_a_vault(category: str, tag: str) -> None:
    blog = Memory()
    blog.entry("1", category=category)
    (text,) = notes(export("markdown", blog, preset=Preset.OBSIDIAN)).values()
    assert head(text)["tags"] == [tag]


def test_each_day_has_a_note_that_leads_to_its_posts() -> None:
    blog = one()
    blog.entry("2", title="", year="2024", mon="03", day="05", hour="23")
    made = export("markdown", blog, preset=Preset.OBSIDIAN)
    assert made.files["daily/2024-03-05.md"].decode().splitlines() == [
        "- [[2024-03-05-海-1|海]]",
        "- [[2024-03-05-2|(無題)]]",
    ]
    assert head(made.files["posts/2024-03-05-海-1.md"].decode())["day"] == "[[2024-03-05]]"


def test_astro_gets_no_markdown_picture_with_a_relative_address() -> None:
    blog = Memory()
    blog.entry("1", entry_text='<p><img src="x.png" alt="[a]"> <a href="x">b</a></p>')
    blog.entry("2", entry_text='<p><img src="/x.png"> <a href="x">b</a> <img src="https://a.example/y.png"></p>')
    made = export("markdown", blog, preset=Preset.ASTRO)
    texts = {name[-4]: data.decode() for name, data in made.files.items() if name.endswith(".md")}
    assert '<img src="x.png" alt="[a]">' in texts["1"]
    assert "![](/x.png) [b](x) ![](https://a.example/y.png)" in texts["2"]
    assert [(row["code"], row["ids"]) for row in made.document["changed"]] == [("kept_as_html", ["1"])]
