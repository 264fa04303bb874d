"""Rules for every format: the same bytes every time, every record accounted for, nothing private in public."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import exporter.export
from exporter.export.formats import FORMATS
from exporter.export.interface import Content, ExportOptions, Packed, Side, Typeset
from exporter.export.report import Report
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from tests.export.hostile import ENTRIES, comment_word, entry_word, flagged_blog, hostile_blog, hostile_export
from tests.export.memory import SAID, Made, Memory, count, export

WHOLE = {name: form for name, form in FORMATS.items() if not form.whole and name != "redirects"}
FORMS_AND_BODIES = [
    (name, body) for name, form in WHOLE.items() for body in (("markdown", "html") if form.bodies else ("html",))
]
every_body = pytest.mark.parametrize(("form", "body"), FORMS_AND_BODIES)


def words(made: Made, letter: str) -> set[int]:
    """Return the numbers of the words of entries (e) or comments (c) that the files contain."""
    return {int(number) for number in re.findall(rf"zq{letter}([0-9]+){letter}qz".encode(), made.everything())}


def accounted(document: dict[str, Any]) -> bool:
    return all(
        document["in"].get(kind, 0) == document["out"][kind] + count(document, "left_out", kind)
        for kind in ("entries", "comments")
    )


def test_the_same_records_give_the_same_bytes(subtests: pytest.Subtests) -> None:
    for form, body in FORMS_AND_BODIES:
        with subtests.test(form=form, body=body):
            first = hostile_export(form, body=body)
            again = export(form, hostile_blog(), body=body)
            assert first.files == again.files
            assert first.copies == again.copies
            assert first.document == again.document


@every_body
@pytest.mark.parametrize(
    "media",
    [
        {},
        pytest.param({"media_folder": True}, marks=pytest.mark.thorough),
        pytest.param({"media_base_url": "https://new.example/m/"}, marks=pytest.mark.thorough),
    ],
)
def test_every_hostile_entry_and_comment_is_exported(form: str, body: str, media: dict[str, Any]) -> None:
    made = hostile_export(form, body=body, **media)
    assert made.document["out"]["entries"] == ENTRIES
    assert accounted(made.document)
    assert words(made, "e") == set(range(1, ENTRIES + 1))
    assert len(words(made, "c")) == made.document["out"]["comments"]
    if WHOLE[form].comments:
        assert made.document["out"]["comments"] == 3 * ENTRIES


def test_no_flag_lets_anything_private_into_a_public_file(subtests: pytest.Subtests) -> None:
    for form, body in FORMS_AND_BODIES:
        with subtests.test(form=form, body=body):
            blog, entries, comments = flagged_blog()
            for extra in ({}, {"media_folder": True}, {"hidden_comments": True} if not WHOLE[form].holds_back else {}):
                made = export(form, blog, body=body, **extra)
                assert words(made, "e") == entries
                assert words(made, "c") == (comments if WHOLE[form].comments else set())
                assert accounted(made.document)


def test_nothing_declared_means_nothing_public(subtests: pytest.Subtests) -> None:
    for form in WHOLE:
        with subtests.test(form=form):
            blog, _, _ = flagged_blog()
            for declared in (Declared(), Declared(all_as_draft=True), Declared(frozenset({"9"}))):
                made = export(form, blog, declared=declared)
                assert words(made, "e") == words(made, "c") == set()
                assert made.document["out"]["entries"] == 0
                assert accounted(made.document)


def test_the_rest_is_everything_else(subtests: pytest.Subtests) -> None:
    for form in WHOLE:
        with subtests.test(form=form):
            blog, entries, _ = flagged_blog()
            made = export(form, blog, side=Side.REST)
            assert words(made, "e") == set(range(1, 126)) - entries
            assert accounted(made.document)
            holding = [name for name, data in made.files.items() if b"zqe" in data]
            assert all("NOT-PUBLIC" in name or "/" in name for name in holding)


@pytest.mark.parametrize("form", [name for name, form in WHOLE.items() if form.drafts])
def test_all_as_draft_separates_drafts_from_private_entries(form: str) -> None:
    blog, _, _ = flagged_blog()
    private = {int(each) for each, raw in blog.scan(Kind.ENTRIES) if raw["is_private"] != "f"}
    drafts = Declared(all_as_draft=True)
    made = [export(form, blog, side=side, declared=drafts) for side in (Side.DRAFTS, Side.REST)]
    assert [words(each, "e") for each in made] == [set(range(1, 126)) - private, private]
    assert all(accounted(each.document) for each in made)
    assert words(made[0], "c") == set()


def test_formats_say_whether_they_have_drafts() -> None:
    assert [name for name, form in FORMATS.items() if form.drafts] == [
        "wxr", "movabletype", "blogger-atom", "ghost", "hugo", "jekyll", "pelican", "markdown",
    ]  # fmt: skip


def test_an_empty_blog(subtests: pytest.Subtests) -> None:
    for form in WHOLE:
        with subtests.test(form=form):
            made = export(form, Memory())
            assert made.document["out"] == {"entries": 0, "comments": 0, "pictures": 0, "categories": 0}


def test_the_choice_of_entries(subtests: pytest.Subtests) -> None:
    for form in WHOLE:
        with subtests.test(form=form):
            blog = Memory()
            for number, year in enumerate(("2015", "2016", "2017"), 1):
                blog.entry(str(number), entry_text=entry_word(number), year=year, category=f"類{number}")
            assert words(export(form, blog, since=date(2016, 3, 5)), "e") == {2, 3}
            assert words(export(form, blog, until=date(2016, 3, 5)), "e") == {1, 2}
            assert words(export(form, blog, until=date(2016, 3, 4)), "e") == {1}
            assert words(export(form, blog, category="類3"), "e") == {3}
            made = export(form, blog, as_of=datetime(2016, 6, 1, tzinfo=UTC))
            assert words(made, "e") == {1, 2}
            assert "its date is later than the backup" in str(made.document["left_out"])


def test_unread_entries_and_orphans_are_named(subtests: pytest.Subtests) -> None:
    for form in WHOLE:
        with subtests.test(form=form):
            blog = Memory()
            blog.entry("1", title="ある")
            blog.add(Kind.ENTRY_LIST, {"entry_id": "2", "title": "読めない"})
            blog.comment("8", "77", cm_text=comment_word(8))
            made = export(form, blog)
            left = {(row["kind"], row["reason"]): row["ids"] for row in made.document["left_out"]}
            assert left["entries", "listed, but the archive has no full record of it"] == ["2"]
            assert left["comments", "its entry is not in the archive"] == ["8"]
            assert words(made, "c") == set()


def test_file_names_are_safe(subtests: pytest.Subtests) -> None:
    for form in WHOLE:
        with subtests.test(form=form):
            made = hostile_export(form, body="html", media_folder=True)
            for name in [*made.files, *made.copies]:
                parts = name.split("/")
                assert not {"", ".", ".."} & set(parts), name
                assert all(
                    len(part.encode()) <= 220 and not re.search(r'[\x00-\x1f\\:*?"<>|]', part) for part in parts
                ), name
            folded = [name.casefold() for name in [*made.files, *made.copies]]
            assert len(set(folded)) == len(folded)


class Counting(Memory):
    """Counts the entries that are read, to compare with the ones written so far."""

    loads = 0

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        self.loads += kind is Kind.ENTRIES
        return super().load(kind, record_id)


@pytest.mark.parametrize("form", [name for name in WHOLE if name not in ("parquet", "sqlite")])
def test_entries_are_read_as_they_are_written(form: str) -> None:
    blog = Counting()
    for number in range(1, 201):
        blog.entry(str(number), entry_text="x")
    options = ExportOptions(declared=SAID)
    report = Report()

    def chunks() -> Iterator[bytes]:
        for file in WHOLE[form].files(blog, options, report):
            members = file.members if isinstance(file, Packed | Typeset) else [file]
            for member in members:
                assert isinstance(member, Content)
                yield from (chunk for chunk in member.chunks if isinstance(chunk, bytes))

    running = chunks()
    for _ in range(20):
        next(running)
    assert 0 < blog.loads < 150


def test_every_module_that_declares_a_format_is_registered() -> None:
    package = Path(exporter.export.__path__[0])
    made = re.compile(r"^[A-Z_]+: Final = Format\(", re.MULTILINE)
    declared = [path for path in package.rglob("*.py") for _ in made.findall(path.read_text("utf-8"))]
    registered = [Path(inspect.getfile(form.export or form.export_archive or object)) for form in FORMATS.values()]
    assert sorted(declared) == sorted(registered)


def test_a_format_is_imported_when_it_is_asked_for() -> None:
    names = "[name for name in sys.modules if name.startswith(('exporter.export', 'jinja2', 'arro3'))]"
    code = f"import sys; from exporter.export.formats import FORMATS; list(FORMATS); FORMATS['wxr']; print({names})"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "exporter.export.wxr" in loaded
    assert not {"jinja2", "arro3", "exporter.export.movabletype"} & set(re.findall(r"[\w.]+", loaded))
