"""``python -m tests.translation.catalogue [JA.json]``: update the catalogues with the program's sentences.

Sentences are the literals given to ``message``, ``message_in_context``, ``message_n`` and ``message_template`` in Python, to errors and
printers with values, and to ``t`` in the site's templates and pages. A catalogue is sorted by them and holds no place, line or date, so that two people can add to
it; sentences that are no longer used leave it.
A JSON file, an object of sentences and their translations, adds to these or replaces them; a sentence with a context is
written as ``CONTEXT\\u0004SENTENCE``.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

from exporter import errors
from exporter.translation import DOMAIN, LANGUAGES, PLACE

PACKAGE = PLACE.parent
ERRORS = {
    name: each
    for name, each in vars(errors).items()
    if isinstance(each, type) and issubclass(each, errors.BlogExporterError)
}
PRINTERS = {"say", "warn", "notice", "answer", "done"}
"""The methods of :class:`exporter.cli.output.Output` that take a template."""
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


class _Compiled(Catalog):
    """A catalogue whose header does not name the library's version, so that the compiled file changes only with its sentences."""

    def __iter__(self) -> Iterator[Message]:
        header, *rest = super().__iter__()
        lines = [line for line in str(header.string).splitlines() if not line.startswith("Generated-By:")]
        yield Message("", "\n".join(lines))
        yield from rest


class Sentence(NamedTuple):
    """A sentence's singular, its plural if it has a number, and its context."""

    text: str
    many: str | None = None
    context: str | None = None

    @property
    def id(self) -> str | tuple[str, str]:
        """The sentence's key in a catalogue."""
        return self.text if self.many is None else (self.text, self.many)


@cache
def sentences() -> tuple[Sentence, ...]:
    """Return the templates in the program."""
    return tuple(_sentences())


def _sentences() -> Iterator[Sentence]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and takes_a_template(node):
                yield Sentence(_text(_literal(node.args[0]), path, node.lineno))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"t", "_t"}:
                yield _of_site([_literal(each) for each in node.args], path, node.lineno)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                literals = [_literal(each) for each in node.args]
                if node.func.id == "t":
                    yield _of_site(literals, path, node.lineno)
                elif node.func.id in {"message", "worded", "message_template"}:
                    yield Sentence(_text(literals[0], path, node.lineno))
                elif node.func.id == "message_n":
                    one, many = (_text(each, path, node.lineno) for each in literals[:2])
                    yield Sentence(one, many)
                elif node.func.id == "message_in_context":
                    context, text = (_text(each, path, node.lineno) for each in literals[:2])
                    yield Sentence(text, None, context)
    environment = Environment(autoescape=True)
    for path in sorted(PACKAGE.glob("*/templates/*.html")):
        for call in environment.parse(path.read_text("utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "t":
                yield _of_site([getattr(each, "value", None) for each in call.args], path, call.lineno)


def takes_a_template(call: ast.Call) -> bool:
    """Return whether a call makes an error, or prints a line, from a template and its values."""
    values = [each for each in call.keywords if each.arg not in {"level", "colour"}]
    if isinstance(call.func, ast.Attribute):
        literal = bool(call.args) and isinstance(call.args[0], ast.Constant)
        return call.func.attr in PRINTERS and literal and bool(values)
    made = ERRORS.get(call.func.id) if isinstance(call.func, ast.Name) else None
    return made is not None and made.__init__ is errors.BlogExporterError.__init__ and bool(values)


def _of_site(literals: list[object], path: Path, line: int) -> Sentence:
    text, *context = (_text(each, path, line) for each in literals)
    return Sentence(text, None, *context)


def _literal(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _text(value: object, path: Path, line: int) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{path}, line {line}: a sentence must be a literal, so that it can be translated")
    return value


def texts(one_or_more: object) -> tuple[str, ...]:
    """Return a sentence's or a translation's texts: one, or one for each plural form."""
    return tuple(one_or_more) if isinstance(one_or_more, tuple | list) else (str(one_or_more or ""),)


def place(language: str, suffix: str) -> Path:
    """Return the path of a catalogue."""
    return PLACE / language / "LC_MESSAGES" / f"{DOMAIN}.{suffix}"


def read(language: str) -> Catalog:
    """Read a catalogue in its source form."""
    with place(language, "po").open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def updated(catalog: Catalog) -> Catalog:
    """Return a catalogue with exactly the program's sentences and their known translations."""
    template = Catalog(domain=DOMAIN)
    for sentence in sentences():
        template.add(sentence.id, context=sentence.context)
    catalog.update(template, no_fuzzy_matching=True)
    catalog.obsolete.clear()
    return catalog


def as_po(catalog: Catalog) -> bytes:
    """Write a catalogue in its source form."""
    header = _HEADER.format(language=catalog.locale_identifier, plurals=catalog.plural_forms)
    file = io.BytesIO()
    write_po(file, catalog, width=120, no_location=True, omit_header=True, sort_output=True)
    return header.encode() + file.getvalue().strip() + b"\n"


def as_mo(catalog: Catalog) -> bytes:
    """Write a catalogue in its compiled form, with only the translated sentences."""
    done = _Compiled(locale=catalog.locale, domain=DOMAIN)
    done.creation_date = done.revision_date = _NEVER
    for each in catalog:
        if each.id and all(texts(each.string)):
            done.add(each.id, each.string, context=each.context)
    file = io.BytesIO()
    write_mo(file, done)
    return file.getvalue()


def fill(catalog: Catalog, translations: dict[str, str]) -> None:
    """Add translations, each under its sentence, or under its singular."""
    for sentence, translation in translations.items():
        context, _, text = sentence.rpartition("\x04")
        found = catalog.get(text, context or None)
        if found is None:
            sys.stderr.write(f"Nobody says: {sentence}\n")
        else:
            found.string = (translation,) * catalog.num_plurals if found.pluralizable else translation
            found.flags.discard("fuzzy")


def main() -> None:
    """Write all catalogues again, and print the number of untranslated sentences in each."""
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
