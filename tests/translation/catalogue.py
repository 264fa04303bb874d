"""``python -m tests.translation.catalogue [JA.json]``: bring the catalogues up to date with the program's sentences.

The sentences are the literals given to ``message`` and ``message_n``, found in the syntax trees. A catalogue is sorted by
them and holds no place, line or date, so that two people can add to it; what nobody says any more leaves it.
A file of JSON, an object of sentences and their translations, fills in or replaces these.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from exporter.translation import DOMAIN, LANGUAGES, PLACE

PACKAGE = PLACE.parent
TRANSLATED = [language for language in LANGUAGES if language != "en"]

_NEVER = datetime(2000, 1, 1, tzinfo=UTC)
_HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plurals}\\n"

"""


def sentences() -> Iterator[str | tuple[str, str]]:
    """Yield the templates in the program; where a number decides, that for one and that for others."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                texts = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
                if node.func.id in {"message", "worded"}:
                    yield _text(texts[0], path, node)
                elif node.func.id == "message_n":
                    yield _text(texts[0], path, node), _text(texts[1], path, node)


def _text(value: object, path: Path, node: ast.Call) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{path}, line {node.lineno}: a sentence must be a literal, so that it can be translated")
    return value


def texts(one_or_more: object) -> tuple[str, ...]:
    """Return the texts of a sentence or of its translation: one, or one for each number that is told apart."""
    return tuple(one_or_more) if isinstance(one_or_more, tuple | list) else (str(one_or_more or ""),)


def place(language: str, suffix: str) -> Path:
    """Return where a catalogue is."""
    return PLACE / language / "LC_MESSAGES" / f"{DOMAIN}.{suffix}"


def read(language: str) -> Catalog:
    """Read a catalogue as people write it."""
    with place(language, "po").open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def updated(catalog: Catalog) -> Catalog:
    """Return a catalogue with the program's sentences: those it knew with their translation, and no others."""
    template = Catalog(domain=DOMAIN)
    for sentence in sentences():
        template.add(sentence)
    catalog.update(template, no_fuzzy_matching=True)
    catalog.obsolete.clear()
    return catalog


def as_po(catalog: Catalog) -> bytes:
    """Write a catalogue for people."""
    header = _HEADER.format(language=catalog.locale_identifier, plurals=catalog.plural_forms)
    file = io.BytesIO()
    write_po(file, catalog, width=120, no_location=True, omit_header=True, sort_output=True)
    return header.encode() + file.getvalue().strip() + b"\n"


def as_mo(catalog: Catalog) -> bytes:
    """Write a catalogue for the program, of the sentences that are translated."""
    done = Catalog(locale=catalog.locale, domain=DOMAIN)
    done.creation_date = done.revision_date = _NEVER
    for each in catalog:
        if each.id and all(texts(each.string)):
            done.add(each.id, each.string)
    file = io.BytesIO()
    write_mo(file, done)
    return file.getvalue()


def fill(catalog: Catalog, translations: dict[str, str]) -> None:
    """Put translations in, each under its sentence, or under the one for a number of one."""
    for sentence, translation in translations.items():
        found = catalog.get(sentence)
        if found is None:
            sys.stderr.write(f"Nobody says: {sentence}\n")
        else:
            found.string = (translation,) * catalog.num_plurals if found.pluralizable else translation


def main() -> None:
    """Write all catalogues again, and say how many sentences of each wait for a translation."""
    for language in TRANSLATED:
        catalog = updated(read(language))
        for file in sys.argv[1:]:
            fill(catalog, json.loads(Path(file).read_text("utf-8")))
        place(language, "po").write_bytes(as_po(catalog))
        place(language, "mo").write_bytes(as_mo(catalog))
        missing = sum(not all(texts(each.string)) for each in catalog if each.id)
        sys.stdout.write(f"{language}: {len(catalog):,} sentences, {missing:,} without a translation\n")


if __name__ == "__main__":
    main()
