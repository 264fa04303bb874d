"""The words of the interface: both languages have all of them, and pages use all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site.words import LANGUAGES, Dates, field_name
from tests.site.building import build
from tests.site.test_view import many_entries


def test_both_languages_say_everything() -> None:
    assert LANGUAGES["ja"].keys() == LANGUAGES["en"].keys()
    for name, said in LANGUAGES["ja"].items():
        assert said
        assert LANGUAGES["en"][name].count("%") == said.count("%"), name


def test_no_word_is_called_as_what_a_dictionary_does() -> None:
    assert [name for name in LANGUAGES["en"] if hasattr(dict, name)] == []


def test_every_word_is_used() -> None:
    here = Path(__file__).parents[2] / "exporter" / "site"
    text = "".join(path.read_text("utf-8") for path in here.rglob("*") if path.suffix in {".py", ".html", ".js"})
    kinds = {str(kind) for kind in Kind}
    # What changed is said by the attribute that it was read as.
    kinds |= {f"field_{name}" for names in DEFAULT_SERVICE.attributes.values() for name in names.values()}
    assert kinds - set(LANGUAGES["en"]) <= {str(kind) for kind in Kind}
    unused = [
        name
        for name in LANGUAGES["en"]
        if name not in kinds and not re.search(rf"\b(?:t|words)\.{name}\b|[\"']{name}[\"']\]|\"{name}\"[,)]", text)
    ]
    assert unused == []


def test_english_pages(tmp_path: Path) -> None:
    built = many_entries(tmp_path / "a", 3)
    build(built, language="en")
    text = (built.layout.latest / "site" / "entry" / "2.html").read_text("utf-8")
    assert '<html lang="en">' in text
    assert "Previous entry" in text
    assert 'lang="ja"' in text


@pytest.mark.parametrize(("language", "year", "month"), [("ja", "2016年", "3月"), ("en", "2016", "March")])
def test_dates(language: str, year: str, month: str) -> None:
    dates = Dates(language)
    assert (dates.year("2016"), dates.month(3)) == (year, month)
    assert dates.day(None) == dates.minute(None) == ""


def test_a_field_alone_has_a_name_and_one_of_many_that_it_was_sent_by() -> None:
    attributes = DEFAULT_SERVICE.attributes[Kind.ENTRIES]
    assert [field_name(attributes, name) for name in ("entry_text", "last_update", "hour", "mood")] == [
        "Text",
        "Last update",
        "hour",
        "mood",
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [("2019-10-21 14:21:00", "2019年10月21日（月） 14:21"), ("1", "1"), ("済", "済"), ("", "")],
)
def test_a_time_of_the_service_is_shown_as_a_person_writes_it(written: str, shown: str) -> None:
    assert Dates("ja").local(written) == shown
