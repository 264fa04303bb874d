"""Targets: a name for a format, facts about it with their sources, and warnings about losses in an entry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exporter.export.formats import FORMATS, NAMED
from exporter.export.interface import ExportOptions, Side
from exporter.export.reasons import Reason, sentence
from exporter.export.targets import TARGETS, Fact, Matter, Target
from exporter.model.publication import Cause
from exporter.translation import Language, translated
from tests.export.hostile import hostile_blog
from tests.export.memory import Made, Memory, export
from tests.export.targets_page import PAGE, with_tables

every_target = pytest.mark.parametrize("name", TARGETS)
SEA = "https://files.example.jp/sea.png"


def blog() -> Memory:
    """Return a blog with entries that have one feature each, and one without any."""
    made = Memory()
    made.entry("1", category="", category_id=None, name="")
    made.entry("2", category="", category_id=None, name="", title="海")
    made.comment("5", "2")
    made.picture(SEA, entry_id="3")
    made.entry("3", category="", category_id=None, name="", entry_text=f'<img src="{SEA}">')
    made.entry("4", name="")
    made.entry("5", category="", category_id=None, name="umi")
    made.entry("6", category="", category_id=None, name="", title="長" * 49)
    return made


def minded(made: Made) -> dict[str, list[str]]:
    rows = made.document["preflight"]
    return {row["limit"]: row["entries"] for row in rows if "keep" in row["limit"] or "cut" in row["limit"]}


def test_the_page_says_what_the_program_knows() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page), "write it again: python -m tests.export.targets_page"


@every_target
def test_a_target_is_a_name_for_a_format(name: str) -> None:
    target = TARGETS[name]
    assert name == target.name not in FORMATS
    assert set(target.forms) <= FORMATS.keys()
    known, own = NAMED[name], FORMATS[target.form]
    assert known == replace(own, help=known.help, target=target)
    assert target.title in known.help
    assert own.splits
    assert own.drafts


@every_target
def test_every_fact_has_a_page_that_states_it(name: str) -> None:
    for fact in TARGETS[name].facts:
        path = PAGE.parent / fact.source
        assert fact.source.startswith(("https://", "http://")) or path.is_file()
        assert fact.says
    matters = [(fact.matter, fact.confirmed) for fact in TARGETS[name].facts]
    assert len(set(matters)) == len(matters)
    if TARGETS[name].title_characters:
        assert any(fact.matter is Matter.TITLES for fact in TARGETS[name].facts)
    if TARGETS[name].max_entries or TARGETS[name].max_bytes:
        assert any(fact.matter is Matter.FILES for fact in TARGETS[name].facts)


def test_names_of_formats_and_targets_are_one_list() -> None:
    assert list(NAMED) == [*FORMATS, *TARGETS]
    assert len(NAMED) == len(set(NAMED))


@every_target
def test_a_target_changes_no_byte_but_for_wordpress_blocks(name: str) -> None:
    target = TARGETS[name]
    style = "html" if target.blocks else "plain"
    limits = {"max_entries": target.max_entries, "max_bytes": target.max_bytes}
    mine, plain = export(name, hostile_blog()), export(target.form, hostile_blog(), wordpress_body=style, **limits)
    assert mine.files == plain.files
    assert mine.document["out"] == plain.document["out"]
    assert minded(plain) == {}


def test_unconfirmed_features_are_named_if_an_entry_has_them() -> None:
    assert minded(export("note", blog())) == {
        "has comments, which note is not confirmed to keep": ["2"],
        "has pictures, which note is not confirmed to keep": ["3"],
        "has a category, which note is not confirmed to keep": ["4"],
        "has an address of its own, which note is not confirmed to keep": ["5"],
    }
    assert minded(export("wordpress", blog())) == {}


def test_content_that_a_target_drops_is_named() -> None:
    assert minded(export("movable-type", blog())) == {"has pictures, which Movable Type does not keep": ["3"]}


@pytest.mark.parametrize("moved", [{"media_folder": True}, {"media_base_url": "https://new.example/m/"}])
def test_pictures_at_another_address_cause_no_warning(moved: dict[str, bool | str]) -> None:
    for name in ("note", "movable-type"):
        assert not any("pictures" in limit for limit in minded(export(name, blog(), **moved)))


def test_long_titles_are_named() -> None:
    said = "has a title above 48 characters, which may be cut"
    assert minded(export("ameba", blog()))[said] == ["6"]
    assert said not in minded(export("fc2", blog()))


def test_drafts_that_may_be_published_are_named() -> None:
    made = Memory()
    made.entry("1", category="", category_id=None, name="", open_flg="2")
    said = "has the state of a draft, which Hatena Blog is not confirmed to keep"
    assert minded(export("hatena", made, side=Side.REST)) == {said: ["1"]}
    assert minded(export("wordpress", made, side=Side.REST)) == {}


def test_limits_apply_unless_options_set_others() -> None:
    options = ExportOptions(max_bytes=7).aimed_at(TARGETS["hatena"])
    assert (options.max_entries, options.max_bytes, options.target) == (4_999, 7, TARGETS["hatena"])


def test_only_confirmed_facts_count() -> None:
    hearsay = Fact(Matter.COMMENTS, "somebody says so", "https://a.example/", kept=True, confirmed=False)
    known = replace(hearsay, kept=False, confirmed=True)
    assert Target("x", "X", ("wxr",), (hearsay,)).keeps(Matter.COMMENTS) is None
    assert Target("x", "X", ("wxr",), (hearsay, known)).keeps(Matter.COMMENTS) is False


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "has comments, which note is not confirmed to keep"),
        ("ja", "note でコメントが保たれるかは、確認できていません"),
    ],
)
def test_warnings_are_in_both_languages(language: Language, said: str) -> None:
    assert translated(sentence("entries", Cause(Reason.NOT_SURE, Matter.COMMENTS, "note")), language) == said
