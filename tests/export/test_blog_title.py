"""The title of a blog is the same on its site and in every export: chosen, stated by its records, or its id."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.settings_file import kept_title, remember
from exporter.export.interface import ExportOptions
from exporter.library.export import export_blog
from exporter.library.views import served_options
from exporter.service.wxr.source import WxrFile
from exporter.settings import resolve
from tests.service.wxr_samples import channel, item
from tests.source.wxr_backups import saved, settings

STATED, CHOSEN = "海の日記", "潮だまり日記"
FORMS = {"wxr": ".xml", "atom": ".atom", "jsonfeed": ".json", "blogger-atom": ".xml", "hugo": ".toml", "jekyll": ".yml",
         "html": ".html", "sqlite": ".json"}  # fmt: skip
"""Formats whose files name the blog, and the ending of one that does."""


def texts(root: Path, out: Path, form: str) -> str:
    """Export an archive, and return the texts of the files that may name the blog."""
    export_blog(root, form, out, ExportOptions(service=WxrFile()))
    return "".join(path.read_text("utf-8") for path in sorted(out.rglob(f"*{FORMS[form]}")))


async def test_every_export_and_the_site_have_the_stated_title_until_the_owner_chooses_another(tmp_path: Path) -> None:
    path, root = tmp_path / "blog.xml", tmp_path / "archive"
    path.write_text(channel(item(1, "本文")), "utf-8")
    await saved(path, root, settings(site="yes"))
    home = root / "latest" / "site" / "index.html"
    assert kept_title(root) == ""
    assert f'<h1 lang="ja">{STATED}</h1>' in home.read_text("utf-8")
    assert served_options(resolve({}, environ={}), Archive.open(root)).title == STATED
    assert {form for form in FORMS if STATED not in texts(root, tmp_path / "stated" / form, form)} == set()

    await saved(path, root, settings(site="yes", site_title=f" {CHOSEN}\n"))
    assert kept_title(root) == CHOSEN
    assert f'<h1 lang="ja">{CHOSEN}</h1>' in home.read_text("utf-8")
    assert CHOSEN in (root / "latest" / "site" / "entry" / "1.html").read_text("utf-8")
    assert {form for form in FORMS if CHOSEN not in texts(root, tmp_path / "chosen" / form, form)} == set()


async def test_a_page_is_written_again_if_only_the_stated_title_changed(tmp_path: Path) -> None:
    path, root = tmp_path / "blog.xml", tmp_path / "archive"
    for title in (STATED, CHOSEN):
        path.write_text(channel(item(1, "本文")).replace(STATED, title), "utf-8")
        await saved(path, root, settings(site="yes"))
        assert title in (root / "latest" / "site" / "entry" / "1.html").read_text("utf-8")


@pytest.mark.parametrize("title", ["", "題\n名  です"])
async def test_the_settings_of_the_archive_keep_the_title_without_a_site(tmp_path: Path, title: str) -> None:
    path, root = tmp_path / "blog.xml", tmp_path / "archive"
    path.write_text(channel(item(1, "本文")), "utf-8")
    await saved(path, root)
    remember(root, {"site_title": title})
    assert kept_title(root) == " ".join(title.split())
    assert (" ".join(title.split()) or STATED) in texts(root, tmp_path / "out", "atom")
