"""The meaning of the answers about flags: content is public only if it is known to be public."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.cli.answers import FlagQuestions
from exporter.cli.questions import Questions
from exporter.cli.samples import EntryAnswers
from exporter.html.links import AddressPattern
from exporter.service.registry import DEFAULT_SERVICE
from tests.export.memory import Memory


class Owner(Questions):
    """Answers the questions in order, and records the output."""

    def __init__(self, answers: str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.said: list[str] = []

    def say(self, text: str = "") -> None:
        self.said.append(text)

    def agreed(self, question: str, *, default: bool) -> bool:
        assert not default, question
        return self.answers.pop(0) == "y"


def asked(blog: Memory, answers: str) -> tuple[FlagQuestions, Owner]:
    owner = Owner(answers)
    pattern = AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x")
    return FlagQuestions(owner, blog, DEFAULT_SERVICE, [pattern]), owner


def blog_of(*entries: dict[str, Any]) -> Memory:
    blog = Memory()
    for number, flags in enumerate(entries, 1):
        blog.entry(str(number), title=f"題{number}", **flags)
    return blog


OPEN: dict[str, Any] = {"open_flg": "1", "is_private": "f", "period_flg": "f"}
CLOSED = {**OPEN, "open_flg": "2"}
SPAN = {**OPEN, "period_flg": "t"}


@pytest.mark.parametrize(
    ("entries", "answers", "expected"),
    [
        ([OPEN, OPEN, CLOSED], "yn", EntryAnswers(["1"], False)),
        ([OPEN, OPEN, CLOSED], "nn", EntryAnswers([], False)),
        ([OPEN, OPEN, SPAN], "yy", EntryAnswers(["1"], True)),
        ([OPEN, OPEN, SPAN], "yn", EntryAnswers(["1"], False)),
        ([OPEN, OPEN, SPAN], "n", EntryAnswers([], False)),
        ([SPAN], "y", EntryAnswers(["1"], True)),
        ([SPAN], "n", EntryAnswers([], False)),
        ([SPAN, SPAN, {**SPAN, "open_flg": "2"}], "yn", EntryAnswers(["1"], False)),
        ([OPEN, {**OPEN, "is_private": None}], "y", EntryAnswers(["1"], False)),
        ([OPEN, OPEN, {**OPEN, "period_flg": None}], "yn", EntryAnswers(["1"], False)),
        ([OPEN, OPEN, {**OPEN, "open_flg": 1}], "yn", EntryAnswers([], False)),
        ([OPEN, {**OPEN, "is_private": "t"}], "y", EntryAnswers(["1"], False)),
        ([{**OPEN, "open_flg": True}, {**OPEN, "open_flg": None}, {**OPEN, "open_flg": [1]}], "", EntryAnswers([], False)),
        ([{**OPEN, "open_flg": 1}], "y", EntryAnswers(["1"], False)),
        ([{**OPEN, "open_flg": "1,2"}, {**OPEN, "open_flg": " 1"}, {**OPEN, "open_flg": ""}], "", EntryAnswers([], False)),
        ([{**OPEN, "open_flg": str(code)} for code in range(30)], "n" * 20, EntryAnswers([], False)),
        ([], "", EntryAnswers([], False)),
    ],
)  # fmt: skip
def test_a_code_is_public_only_if_all_its_samples_are(
    entries: list[dict[str, Any]], answers: str, expected: EntryAnswers
) -> None:
    questions, owner = asked(blog_of(*entries), answers)
    assert questions.entries() == expected
    assert owner.answers == []


def test_a_sample_is_shown_with_its_address() -> None:
    blog = blog_of(OPEN, {**OPEN, "is_private": "t"})
    blog.comment("7", "1", delete_flg="f", comment="やあ")
    blog.comment("8", "99", delete_flg="t")
    blog.comment("9", "1", delete_flg=None)
    questions, owner = asked(blog, "yyn")
    assert questions.entries().public == ["1"]
    assert questions.comments() == ["f"]
    said = "\n".join(owner.said)
    for text in ("Entries with open_flg 1, is_private f, period_flg f: 1. Sample: “題1”", f"https://{blog.blog_id}/Entry/1/",
                 "is_private t, period_flg f: 1. They are marked as private", "Comments with delete_flg f: 1."):  # fmt: skip
        assert text in said, text
    assert said.count("Its address is unknown") == 1
