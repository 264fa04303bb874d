"""Astro and Eleventy build the presets as their starters do, and every link in Obsidian's vault has a target."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from exporter.export.interface import Preset, Side
from exporter.html.links import AddressPattern
from exporter.model.publication import Declared
from tests.export.hostile import ENTRIES, entry_word
from tests.importers.blogs import bare, blog, shown
from tests.importers.conftest import Tool
from tests.importers.ledger import Ledger
from tests.importers.sites import GENERATORS, STARTERS
from tests.importers.test_generators import both_blogs, both_bodies, found_in

LINKED: dict[str, Any] = {"old_urls": (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)}
every_starter = pytest.mark.parametrize("starter", STARTERS)


@both_blogs
@both_bodies
@every_starter
def test_starters_build_them(
    tool: Tool, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, body: str, starter: str
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    with blog(name, tmp_path / "archive") as moved:
        site, generator = tmp_path / "site", GENERATORS[starter]
        report = moved.export("markdown", site, body=body, preset=generator.preset, **LINKED)
        built = generator.build(tool, site)
        pages = list((built / "blog").rglob("index.html"))
        found = found_in(built, moved, pages)
        ledger.enter(
            f"markdown, {generator.preset}, {body}",
            generator.preset.title(),
            name,
            moved.count(),
            found,
            report,
            tool.seconds,
        )
        links = [
            built / unquote(link)
            for page in pages
            for link in re.findall(r'href="/(blog/[^"#]+)"', page.read_text(encoding="utf-8"))
        ]
        assert links or name == "hostile"
        assert [link for link in links if not (link / "index.html").is_file()] == []


@both_blogs
@every_starter
def test_no_starter_publishes_a_draft(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, starter: str
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    with blog(name, tmp_path / "archive") as moved:
        site, generator = tmp_path / "site", GENERATORS[starter]
        options = {"side": Side.DRAFTS, "declared": Declared(all_as_draft=True)}
        report = moved.export("markdown", site, preset=generator.preset, **options)
        assert report["out"]["entries"] >= (ENTRIES if name == "hostile" else 40)
        (site / "src" / "content" / "blog").mkdir(parents=True)
        generator.prepare(site)
        tool(*generator.command, cwd=site)
        files = [path for path in (site / generator.built).rglob("*") if path.is_file()]
        assert files
        text = shown("".join(path.read_text(encoding="utf-8") for path in files))
        titles = [title for post in moved.posts() if len(title := bare(post.title)) > 4]
        assert [title for title in titles if title in bare(text)] == []
        assert [number for number in range(1, ENTRIES + 1) if entry_word(number) in text] == []
        assert moved.pictures() & {path.name for path in files} == set()


@both_blogs
def test_every_link_of_a_vault_leads_somewhere(ledger: Ledger, tmp_path: Path, name: str) -> None:
    with blog(name, tmp_path / "archive") as moved:
        vault = tmp_path / "vault"
        report = moved.export("markdown", vault, preset=Preset.OBSIDIAN, **LINKED)
        files = [path for path in vault.rglob("*") if path.is_file()]
        # Obsidian finds a note by its name without the extension, and any other file by its full name.
        known = {path.stem if path.suffix == ".md" else path.name for path in files}
        assert len(known) == len(files)
        notes = {path.stem: path.read_text(encoding="utf-8") for path in (vault / "posts").glob("*.md")}
        heads = {stem: yaml.safe_load(text.split("---\n")[1]) for stem, text in notes.items()}
        days = {path.stem: path.read_text(encoding="utf-8") for path in (vault / "daily").glob("*.md")}
        linked = [link for text in [*notes.values(), *days.values()] for link in links_of(text)]
        assert [link for link in linked if link not in known] == []
        assert not any("posts-of-this-vault" in text for text in notes.values())
        assert all(head["day"] == f"[[{head['day'][2:-2]}]]" and head["day"][2:-2] in days for head in heads.values())
        assert all(stem in "".join(days.values()) for stem in notes)
        assert all(re.fullmatch(r"[\w/-]*[^\W\d][\w/-]*", tag) for head in heads.values() for tag in head["tags"])
        assert all(head["aliases"] == [head["title"]] for head in heads.values())
        assert json.loads((vault / ".obsidian" / "app.json").read_text())["attachmentFolderPath"] == "attachments"
        assert moved.titles_missing("".join(head["title"] for head in heads.values())) == []
        assert moved.pictures() <= set(linked) | {path.name for path in files}
        assert report["out"]["comments"] == moved.count().comments


def links_of(text: str) -> list[str]:
    """The targets of links in a note, outside of code."""
    plain = re.sub(r"(?s)```.*?```|`[^`\n]*`", "", text)
    return [found.rstrip("\\") for found in re.findall(r"(?<!\\)\[\[([^\]|\n]+)(?:\|[^\]\n]*)?\]\]", plain)]
