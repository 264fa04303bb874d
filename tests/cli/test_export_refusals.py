"""Wrong options end an export before it writes or stores anything, and stored answers are named when they are used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.export.formats import FORMATS
from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.cli.conftest import Program
from tests.support.declared import declare
from tests.support.runs import tree

SAID = ("--public-open-flg", "1", "--visible-delete-flg", "f")
OLD = ("--old-url", "https://{blog_id}/Entry/{entry_id}/")
SHOWS = "open_flg is 1 (58 entries) or 2 (2 entries)"


@pytest.mark.parametrize(
    ("form", "arguments", "message"),
    [
        ("redirects", ("--old-url", "https://{blog_id}/Entry/{entri_id}/", "--new-url", "https://new.example/{slug}"),
         "--old-url: {entri_id} is not a field of the record: it may be entry_id."),
        ("redirects", (*OLD, "--new-url", "https://new.example/{nofield}"),
         "--new-url: {nofield} is not a field of the record: it may be blog_id, entry_id, name"),
        ("wxr", (*OLD, "--new-url", "https://new.example/{slog}"), "it may be slug."),
        ("hugo", ("--old-url", "https://{blog_id}/{slug}"), "--old-url: {slug} is not a field of the record"),
        ("csv", ("--dry-run", "--old-url", "https://{blog_id}/{category}"), "it may be category_id."),
    ],
)  # fmt: skip
def test_a_pattern_with_an_unknown_field_names_the_nearest(
    program: Program, made: Path, tmp_path: Path, form: str, arguments: tuple[str, ...], message: str
) -> None:
    result = program("export", form, made, tmp_path / "out", *SAID, *arguments)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert message in line
    assert tree(tmp_path) == {}


def test_the_setting_of_the_old_addresses_is_named_as_such(
    program: Program, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_ENTRY_URL", "https://{blog_id}/Entry/{entry}/")
    result = program("export", "csv", made, tmp_path / "out", *SAID)
    assert (result.code, "entry_url: {entry} is not a field of the record" in result.err) == (2, True)


def test_a_field_that_the_document_does_not_name_may_be_in_a_pattern(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    root.mkdir()
    flags = {"open_flg": "1", "is_private": "f", "period_flg": "f"}
    parts = {"year": "2020", "mon": "01", "day": "02", "hour": "03", "min": "04", "sec": "05"}
    entries = {
        "1": record(entry_id="1", title="a", **flags, **parts),
        "2": record(entry_id="2", title="b", permalink="sea", **flags, **parts),
    }
    Built(root).commit({Kind.ENTRIES: entries})
    patterns = ("--old-url", "https://old.example/{permalink}", "--new-url", "https://new.example/{entry_id}")
    result = program("export", "redirects", root, tmp_path / "out", "--public-open-flg", "1", *patterns)
    assert result.code == 0, result.err
    assert (tmp_path / "out" / "redirects.csv").read_text("utf-8").splitlines()[1:] == [
        '"https://old.example/sea","https://new.example/2"'
    ]
    wrong = program("export", "redirects", root, tmp_path / "new", "--old-url", "https://old.example/{permalnk}", "--new-url", "https://new.example/{entry_id}")  # fmt: skip
    assert (wrong.code, "it may be permalink." in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--public-open-flg", "banana"), f"public_open_flg is banana, which does not occur: {SHOWS}"),
        (("--public-open-flg", "3,4", "--dry-run"), f"public_open_flg is 3,4, which does not occur: {SHOWS}"),
        (("--public-open-flg", "9", "--all-as-draft"), "public_open_flg is 9, which does not occur"),
    ],
)
def test_a_value_that_no_entry_has_names_those_that_occur(
    program: Program, made: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = program("export", "wxr", made, tmp_path / "out", *arguments)
    assert (result.code, message in result.err.splitlines()[-1]) == (2, True)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("said_by", ["variable", "settings", "kept"])
@pytest.mark.parametrize("arguments", [(), ("--only", "all"), ("--only", "private"), ("--at", "1", "--dry-run")])
def test_it_is_refused_from_every_source(
    program: Program,
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said_by: str,
    arguments: tuple[str, ...],
) -> None:
    folder = tmp_path / "config" / "blog-exporter"
    folder.mkdir(parents=True)
    options: tuple[object, ...] = ()
    if said_by == "variable":
        monkeypatch.setenv("BLOG_EXPORTER_PUBLIC_OPEN_FLG", "banana")
    elif said_by == "settings":
        (folder / "own.toml").write_text('public_open_flg = "banana"\n', "utf-8")
        options = ("--config", folder / "own.toml")
    else:
        declare(made, {"public_open_flg": "banana"}, {"open_flg": ["1", "2", "banana"]})
    before = tree(tmp_path)
    result = program("export", "wxr", made, tmp_path / "out", *options, *arguments)
    assert result.code == 2
    assert "public_open_flg is banana, which does not occur: open_flg is 1" in result.err.splitlines()[-1]
    assert ("Using the answers kept" in result.err) == (said_by == "kept")
    assert tree(tmp_path) == before


def test_the_public_site_also_refuses_it(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("site", made, tmp_path / "out", "--public-only", "--public-open-flg", "banana")
    assert (result.code, SHOWS in result.err) == (2, True)
    assert tree(tmp_path) == {}


def test_a_wrong_value_next_to_a_right_one_causes_a_warning(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "csv", made, tmp_path / "out", "--public-open-flg", "1,7")
    assert (result.code, "warning: No entry has open_flg 7" in result.err) == (0, True)


def test_a_flag_that_no_comment_has_names_those_that_occur(program: Program, tmp_path: Path) -> None:
    root = tmp_path / "blog"
    root.mkdir()
    Built(root).commit(
        {
            Kind.ENTRIES: {"1": record(entry_id="1", open_flg="1", is_private="f", period_flg="f")},
            Kind.COMMENTS: {"1": record(cm_id="1", entry_id="1", delete_flg="f")},
        }
    )
    asked = ("export", "wxr", root, tmp_path / "out", "--public-open-flg", "1", "--visible-delete-flg")
    refused = program(*asked, "t")
    assert (refused.code, tree(tmp_path / "config")) == (2, {})
    assert "visible_delete_flg is t, which does not occur: delete_flg is f (1 comment)" in refused.err
    assert program(*asked, "f").code == 0


def test_stored_answers_are_named_when_they_are_used(program: Program, made: Path, tmp_path: Path) -> None:
    blog = "shiodamari.blog.example.jp"
    place = made / "declared.jsonl"
    first = program("export", "csv", made, tmp_path / "one", *SAID)
    assert "Using the answers kept" not in first.err
    all_of_it = f'Using the answers kept for {blog}: public_open_flg = "1", visible_delete_flg = "f" (in {place})'
    for arguments, said in (
        (("export", "csv", made, tmp_path / "two"), all_of_it),
        (("export", "csv", made, tmp_path / "three", "--dry-run", "--json"), all_of_it),
        (("site", made, tmp_path / "four", "--public-only"), all_of_it),
        (("export", "wxr", made, tmp_path / "five", "--public-open-flg", "1"),
         f'Using the answers kept for {blog}: visible_delete_flg = "f" (in {place})'),
        (("export", "wxr", made, tmp_path / "six", "--all-as-draft"),
         f'Using the answers kept for {blog}: visible_delete_flg = "f" (in {place})'),
    ):  # fmt: skip
        result = program(*arguments)
        assert (result.code, result.err.splitlines().count(said)) == (0, 1), result.err
    bag = program("export", "bagit", made, tmp_path / "bag", "--only", "all", "--public-open-flg", "banana")
    assert (bag.code, "Using" in bag.err, "--public-open-flg has no effect on bagit" in bag.err) == (0, False, True)
    assert json.loads(place.read_text("utf-8").splitlines()[-1])["settings"]["public_open_flg"] == "1"


@pytest.mark.parametrize("form", [name for name, form in FORMATS.items() if not form.drafts])
def test_a_format_without_drafts_refuses_to_make_some(program: Program, made: Path, tmp_path: Path, form: str) -> None:
    result = program("export", form, made, tmp_path / "out", "--all-as-draft", "--only", "all")
    assert result.code == 2
    assert f"{form} has no drafts" in result.err
    assert "wxr, movabletype, blogger-atom, ghost, hugo, jekyll, pelican, markdown." in result.err
    assert tree(tmp_path) == {}


def test_drafts_are_not_offered_if_there_are_none(program: Program, made: Path, tmp_path: Path) -> None:
    ends = [program("export", form, made, tmp_path / "out", "-q").err.splitlines()[-1] for form in ("wxr", "epub")]
    assert ["--all-as-draft" in end for end in ends] == [True, False]


def test_private_entries_are_never_written_into_out(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "hugo", made, tmp_path / "out", *SAID, "--only", "private", "--json")
    (side,) = result.json["exports"]
    assert (side["side"], side["files"], side["out"]["entries"]) == ("private", [], 5)
    written = [path for path in (tmp_path / "out.NOT-PUBLIC").rglob("*") if path.is_file()]
    assert side["file_count"] == len(written)
    assert side["bytes"] == sum(path.stat().st_size for path in written)
    assert not (tmp_path / "out").exists()


def test_reports_about_private_entries_contain_only_ids_and_flags(program: Program, made: Path, tmp_path: Path) -> None:
    result = program("export", "markdown", made, tmp_path / "out", *SAID, "--only", "all", "--json")
    public, rest = result.json["exports"]
    assert len(public["files"]) == public["file_count"]
    assert rest["in"]["categories"] > 0
    assert all(row["ids"] == [] for part in ("left_out", "by_address", "changed") for row in rest[part] if row["kind"] in {"pictures", "categories"})  # fmt: skip
    assert all(text.isascii() for text in texts({**rest, "folder": ""}))


def texts(value: Any) -> list[str]:
    """Return all texts in a JSON value."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def test_a_draft_in_markdown_is_held_back_from_every_generator(program: Program, made: Path, tmp_path: Path) -> None:
    assert program("export", "markdown", made, tmp_path / "out", "--all-as-draft").code == 0
    pages = sorted((tmp_path / "out").rglob("*.md"))
    assert len(pages) == 59
    assert {page.parent.name for page in pages} == {"drafts"}
    for page in pages:
        head = page.read_text("utf-8").split("---")[1].splitlines()
        assert {"draft: true", "permalink: false", "eleventyExcludeFromCollections: true"} <= set(head)
    assert program("export", "markdown", made, tmp_path / "new", *SAID).code == 0
    published = [page.read_text("utf-8").split("---")[1] for page in (tmp_path / "new" / "posts").glob("*.md")]
    assert published
    assert not any("permalink" in head or "eleventyExclude" in head for head in published)


@pytest.mark.parametrize(
    ("form", "options", "said"),
    [
        ("wxr", ("--comments", "sidecar"), "--comments is for ghost, epub, pdf, html, atom,"),
        ("hatena", ("--comments", "none"), "not for hatena; leave it out"),
        ("hugo", ("--preset", "astro"), "--preset is for markdown, not for hugo; leave it out"),
        ("markdown", ("--preset", "obsidian", "--body", "html"), "--preset obsidian is for bodies in Markdown"),
    ],
)
def test_a_choice_that_a_format_does_not_have_is_refused(
    program: Program, made: Path, tmp_path: Path, form: str, options: tuple[str, ...], said: str
) -> None:
    result = program("export", form, made, tmp_path / "out", "--public-open-flg", "1", *options)
    assert result.code == 2
    assert said in result.err


def test_a_book_without_comments_contains_no_comments(program: Program, made: Path, tmp_path: Path) -> None:
    said = ("--public-open-flg", "1", "--visible-delete-flg", "f")
    for name, options, has_some in (("a", ("--comments", "none"), False), ("b", (), True)):
        result = program("export", "epub", made, tmp_path / name, *said, *options, "--json")
        assert (result.code, result.json["exports"][0]["out"]["comments"] > 0) == (0, has_some)
