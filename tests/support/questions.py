"""The questions of ``export`` on a terminal, by short names, in each language."""

from __future__ import annotations

from typing import Final

from tests.translation.catalogue import read

ENGLISH: Final = {
    "archive": "Which archive do you want to export (its folder)",
    "number": "Number",
    "home": "Address of the new blog (such as https://example.com/; empty if there is none yet)",
    "old": "Address of the entry “{title}” on the old blog (empty if you do not know)",
    "new": "Pattern of entry addresses on the new blog ({fields} can be used; empty if you do not know)",
    "public": "Can everybody read it?",
    "shown": "Can everybody see that comment?",
    "base": "Address of that place (such as https://example.com/media/; empty if you have none)",
    "title": "Title of the book",
    "vertical": "Should its lines run from top to bottom?",
    "by_year": "A book for each year?",
    "rest": "Write drafts and private entries also, into a separate folder?",
    "rest_of_drafts": "Write private entries also, into a separate folder?",
    "out": "New folder to write into",
    "go": "Write this?",
}


def questions(language: str) -> dict[str, str]:
    """Return the questions in a language; if a question has a field, the text after it."""
    if language == "en":
        texts = ENGLISH
    else:
        catalogue = read(language)
        texts = {name: str(catalogue[text].string) for name, text in ENGLISH.items()}
    return {name: text.rpartition("}")[2] for name, text in texts.items()}
