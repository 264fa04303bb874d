"""The texts of the interface: every field and script has a text for each key; dates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporter.html.dates import Dates
from exporter.html.diff import ATTRIBUTE_NAMES, field_name
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site.pages.past import _WORDS
from exporter.site.view import _SCRIPT_WORDS
from tests.site.building import build
from tests.site.test_view import many_entries


def test_every_attribute_that_is_read_from_fields_has_a_name() -> None:
    read = {name for names in DEFAULT_SERVICE.attributes.values() for name in names.values()}
    assert read - set(ATTRIBUTE_NAMES) <= {"category"}


def test_scripts_get_all_their_texts() -> None:
    here = Path(__file__).parents[2] / "exporter" / "site" / "static"
    for given, names in (
        (_SCRIPT_WORDS, [p for p in here.glob("*.js") if p.name != "past.js"]),
        (_WORDS, [here / "past.js"]),
    ):
        text = "".join(path.read_text("utf-8") for path in names)
        asked = set(re.findall(r"\bwords\.(?!js\b)(\w+)", text))
        assert asked - set(given) - {"blogs"} == set()  # a library's blogs: names and colours, no text


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


def test_a_single_field_has_a_title_and_one_of_several_its_raw_name() -> None:
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
def test_a_time_from_the_service_is_shown_as_people_write_it(written: str, shown: str) -> None:
    assert Dates("ja").local(written) == shown
