"""The catalogues: each has all sentences of the program with the same fields, and the compiled form is current."""

from __future__ import annotations

from string import Formatter

import pytest
from babel.messages.catalog import Catalog

from tests.translation.catalogue import TRANSLATED, as_mo, as_po, place, read, sentences, texts, updated
from tests.translation.typography import misplaced_spaces, missing_spaces


@pytest.fixture(scope="module", params=TRANSLATED)
def catalog(request: pytest.FixtureRequest) -> Catalog:
    return read(request.param)


def fields(template: str) -> list[str]:
    return sorted({name for _, name, _, _ in Formatter().parse(template) if name is not None})


def test_each_sentence_of_the_program_has_a_translation(catalog: Catalog) -> None:
    said = {(sentence.context or "", sentence.text) for sentence in sentences()}
    translated = {(each.context or "", texts(each.id)[0]) for each in catalog if each.id and all(texts(each.string))}
    assert sorted(said - translated) == []


def test_unused_sentences_are_removed(catalog: Catalog) -> None:
    kept = {(each.context or "", texts(each.id)) for each in catalog if each.id}
    assert sorted(kept - {(sentence.context or "", texts(sentence.id)) for sentence in sentences()}) == []
    assert not catalog.obsolete
    assert not any(each.fuzzy for each in catalog if each.id)


def test_translations_have_the_fields_of_their_sentence(catalog: Catalog) -> None:
    wrong = [
        (each.id, text)
        for each in catalog
        if each.id
        for text in texts(each.string)
        if text and fields(text) != sorted({name for template in texts(each.id) for name in fields(template)})
    ]
    assert wrong == []


def test_it_is_written_and_compiled_as_by_make_messages(catalog: Catalog) -> None:
    language = catalog.locale_identifier
    assert language is not None
    made = updated(read(language))
    assert place(language, "po").read_bytes() == as_po(made), "run make messages"
    assert place(language, "mo").read_bytes() == as_mo(made), "run make messages"


def test_no_sentence_is_used_both_with_and_without_a_plural() -> None:
    forms: dict[tuple[str, str], set[str | None]] = {}
    for sentence in sentences():
        forms.setdefault((sentence.context or "", sentence.text), set()).add(sentence.many)
    assert [text for text, found in forms.items() if len(found) > 1] == []


def test_japanese_has_spaces_by_one_rule() -> None:
    """Space between half-width words and Japanese; none beside full-width marks (tests/translation/typography.py)."""
    found = [
        around
        for each in read("ja")
        if each.id
        for text in texts(each.string)
        for around in (*misplaced_spaces(text), *missing_spaces(text))
    ]
    assert found == []
