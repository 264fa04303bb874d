"""Every way to read a blog speaks Japanese: check, backup, status, log, and refusals of other files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.atompub_server import API_KEY, USER
from tests.support.blog_sources import (
    BLOG_ID,
    AtomPubApi,
    Content,
    MovableType,
    Pages,
    Source,
    WordPressApi,
    Wxr,
)
from tests.support.japanese import reading
from tests.support.runs import Runs

FAST = ("--rate", "10000", "--allow-private-network", "--assets", "none", "--no-site")
AT = {
    WordPressApi: ("--service", "wordpress"),
    AtomPubApi: ("--profile", "hatena", "--auth", "basic", "--user", USER),
    Pages: ("--service", "public-site", "--page-rules", "livedoor"),
}
"""The options that choose the way."""


@pytest.mark.parametrize("way", [MovableType, Wxr, *AT], ids=lambda way: way.name)
async def test_a_way_is_said_in_japanese(runs: Runs, tmp_path: Path, way: type[Source]) -> None:
    source, content, root = way(), Content.made(4), tmp_path / "archive"
    content.change(3, hidden=True)
    async with source.opened(tmp_path):
        await source.read(tmp_path / "made", content)
        if source.is_file:
            named: tuple[object, ...] = (tmp_path / f"{source.name}.export",)
        else:
            named = (BLOG_ID, *AT[way], "--base-url", source.settings().base_url, "--allow-private-network")

        def read() -> None:
            with reading(runs, BLOG_EXPORTER_TOKEN=API_KEY if way is AtomPubApi else "") as reader:
                reader.run("check", *named)
                if not source.is_file:
                    reader.run("check", source.settings().base_url, "--allow-private-network")
                reader.run("backup", *named, "--archive", root, *FAST, "-v")
                reader.run("backup", *named, "--archive", root, *FAST)
                for command in ("status", "log", "verify", "check"):
                    reader.run(command, root)
                reader.run("init", *named)

        await asyncio.to_thread(read)


def test_other_files_are_refused_in_japanese(runs: Runs, tmp_path: Path) -> None:
    files = {
        "text": b"hello",
        "empty": b"",
        "picture": b"\x89PNG\r\n",
        "xml": b"<?xml version='1.0'?><a/>",
        "zip": b"PK\3\4x",
    }
    with reading(runs) as reader:
        for name, data in files.items():
            path = tmp_path / name
            path.write_bytes(data)
            for command in ("check", "backup", "init"):
                reader.run(command, path, code=2)
