"""Fail closed: with any flags, dates and options, no public file contains a trace of a private record.

The test decides which records are public from the flags as sent, in a few lines that share nothing with the program.
Every entry and comment has a unique word in every field that a stranger could read, in its addresses and in the records
that belong to it. Public entries link to all others. The test then searches for the words in every byte of every file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.export.formats import FORMATS
from exporter.export.interface import Side
from exporter.html.links import AddressPattern
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from tests.export.hostile import comment_word, entry_word
from tests.export.memory import BLOG, Made, Memory, export
from tests.support.parquet import read_parquet

POSTS = {name: form for name, form in FORMATS.items() if not form.whole}
FLAGS: list[Any] = ["t", "f", "1", "2", "0", "", " f", "F", None, True, False, 1, [], {"f": "f"}]
AS_OF = datetime(2024, 6, 1, tzinfo=UTC)
SILENT = object()


@dataclass(frozen=True)
class Draft:
    """An entry's flags as sent; ``listed`` holds those of its list item, or ``None`` if there is no item."""

    is_private: Any
    open_flg: Any
    period_flg: Any
    day: tuple[str, str, str]
    listed: Mapping[str, Any] | None
    delete_flgs: tuple[Any, ...]


@dataclass(frozen=True)
class Asked:
    """The owner's declarations, and the requested part of the blog."""

    open_flgs: frozenset[str] | None
    period_public: bool
    visible: frozenset[str]
    all_as_draft: bool
    since: date | None
    until: date | None
    category: bool
    media: Mapping[str, Any]

    @property
    def declared(self) -> Declared:
        return Declared(self.open_flgs, self.period_public, self.visible, self.all_as_draft)


usual = st.sampled_from(["f", "f", "f", False])
flags = st.one_of(usual, st.sampled_from(FLAGS))
opens = st.one_of(st.sampled_from(["1", "1", "1", 1]), st.sampled_from(FLAGS))
days = st.one_of(
    st.just(("2024", "03", "05")),
    st.sampled_from([("2015", "12", "31"), ("2024", "02", "30"), ("2024", "13", "01"), ("2031", "01", "01"),
                     ("0000", "00", "00"), ("", "", ""), ("x", "y", "z"), ("9999", "12", "31"), ("0001", "01", "01")]),
)  # fmt: skip
listed: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.just({}),
    st.fixed_dictionaries({}, optional={"open_flg": opens, "period_flg": flags, "is_private": flags}),
)
drafts = st.builds(Draft, flags, opens, flags, days, listed, st.tuples(flags, flags))
asked = st.builds(
    Asked,
    st.sampled_from([frozenset({"1"}), frozenset({"1"}), frozenset({"1", "2"}), frozenset({"9"}), frozenset(), None]),
    st.booleans(),
    st.sampled_from([frozenset({"f"}), frozenset({"f"}), frozenset({"t", "f"}), frozenset({"t"}), frozenset()]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([None, None, date(2016, 1, 1)]),
    st.sampled_from([None, None, date(2020, 1, 1)]),
    st.booleans(),
    st.sampled_from([{}, {"media_folder": True}, {"media_base_url": "https://new.example/m/"}, {"body": "html"}]),
)


def truth(value: Any) -> str:
    """``f`` and ``t`` are the flags as sent; other values mean neither true nor false."""
    return {False: "f", True: "t"}[value] if isinstance(value, bool) else value if value in ("t", "f") else "?"


def is_public(entry: Draft, wish: Asked) -> bool:
    """The rule in other words: private unless declared otherwise, a draft unless declared, never before its time."""
    if truth(entry.is_private) != "f" or wish.all_as_draft or not wish.open_flgs:
        return False
    if entry.listed is not None and truth(entry.listed.get("is_private", "f")) != "f":
        return False
    both = [{"open_flg": entry.open_flg, "period_flg": entry.period_flg}]
    if entry.listed is not None:
        both.append({"open_flg": "1", "period_flg": "f", **entry.listed})
    for record in both:
        if isinstance(record["open_flg"], bool) or str(record["open_flg"]) not in wish.open_flgs:
            return False
        if truth(record["period_flg"]) != "f" and not (wish.period_public and truth(record["period_flg"]) == "t"):
            return False
    try:
        day = date(*map(int, entry.day))
    except ValueError:
        return False
    if day.year < 1000:
        return False
    if day >= AS_OF.date() or (wish.since and day < wish.since) or (wish.until and day > wish.until):
        return False
    return not wish.category or entry.listed is not None


def blog_of(entries: list[Draft]) -> Memory:
    made = Memory()
    links = "".join(
        f'<a href="https://{BLOG}/Entry/{number}/">x</a><a href="https://{BLOG}/{number}/archive">y</a>'
        for number in range(1, min(len(entries), 6) + 1)
    )
    for number, entry in enumerate(entries, 1):
        word = entry_word(number)
        url = f"https://files.example.jp/{word}.png"
        made.picture(url, entry_id=str(number), file_id=str(number))
        made.kinds[Kind.FILES][str(number)].update(name=f"{word}.png", title=word, explanation=word)
        body = f'<p>{word}</p><img src="{url}" alt="{word}">{links}'
        year, month, day = entry.day
        made.entry(
            str(number), title=word, entry_text=body, ps_title=word, ps_text=f"<p>{word}</p>", name=word, year=year,
            mon=month, day=day, hour="00", sec="00", min="00", is_private=entry.is_private, open_flg=entry.open_flg,
            period_flg=entry.period_flg, template_text=word, category_id=word, last_update="2024-03-06 00:00:00",
            listed=False,
        )  # fmt: skip
        if entry.listed is not None:
            item = {"entry_id": str(number), "title": word, "name": word, "category": f"類{word}",
                    "regist_date": "2024-03-05 00:00:00", "open_flg": "1", "period_flg": "f", "comment_count": "2"}  # fmt: skip
            made.add(Kind.ENTRY_LIST, {**item, **entry.listed})
        for place, flag in enumerate(entry.delete_flgs):
            said = comment_word(10 * number + place)
            made.comment(str(10 * number + place), str(number), name=said, title=said, cm_text=said, delete_flg=flag,
                         url_text=f"https://{said}.example/", url=f'<a href="https://{said}.example/">x</a>')  # fmt: skip
    return made


def words(made: Made, letter: str) -> set[int]:
    tables = [unpacked(data) for data in made.files.values() if data[:4] == b"PAR1"]
    everything = b"\n".join([made.everything(), *tables])
    return {int(number) for number in re.findall(rf"zq{letter}([0-9]+){letter}qz".encode(), everything)}


def unpacked(data: bytes) -> bytes:
    """The cells of a compressed Parquet file."""
    table = read_parquet(io.BytesIO(data)).read_all()
    return repr([table.column(name).to_pylist() for name in table.column_names]).encode()


def checked(form: str, entries: list[Draft], wish: Asked) -> None:
    """Make a public export and check every byte of it."""
    category = f"類{entry_word(1)}" if wish.category else None
    made = export(
        form, blog_of(entries), declared=wish.declared, as_of=AS_OF, since=wish.since, until=wish.until,
        category=category, old_urls=(AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),),
        new_url=AddressPattern("https://new.example/{name}/{slug}", "x"), **wish.media,
    )  # fmt: skip
    public = {number for number, entry in enumerate(entries, 1) if is_public(entry, wish)}
    if category is not None:
        public &= {1}
    shown = {
        10 * number + place
        for number in public
        for place, flag in enumerate(entries[number - 1].delete_flgs)
        if truth(flag) in wish.visible
    }
    assert words(made, "e") == public
    assert words(made, "c") <= shown
    if POSTS[form].comments:
        assert words(made, "c") == shown
    assert made.document["out"]["entries"] == len(public)


@pytest.mark.parametrize("form", POSTS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(entries=st.lists(drafts, min_size=1, max_size=6), wish=asked)
@pytest.mark.sample(6)
def test_no_public_file_has_a_trace_of_private_records(form: str, entries: list[Draft], wish: Asked) -> None:
    checked(form, entries, wish)


def test_every_value_of_every_flag_alone(subtests: pytest.Subtests) -> None:
    for form in POSTS:
        with subtests.test(form=form):
            plain = Draft("f", "1", "f", ("2024", "03", "05"), {}, ("f", "t"))
            entries = [plain]
            for value in FLAGS:
                entries += [
                    replace(plain, is_private=value), replace(plain, open_flg=value), replace(plain, period_flg=value),
                    replace(plain, listed={"open_flg": value}), replace(plain, listed={"period_flg": value}),
                    replace(plain, listed={"is_private": value}), replace(plain, delete_flgs=(value, value)),
                ]  # fmt: skip
            wish = Asked(frozenset({"1"}), False, frozenset({"f"}), False, None, None, False, {"media_folder": True})
            checked(form, entries, wish)


def test_public_and_private_exports_share_no_entry_and_lose_none(subtests: pytest.Subtests) -> None:
    for form in POSTS:
        with subtests.test(form=form):
            plain = Draft("f", "1", "f", ("2024", "03", "05"), {}, ("f", "t"))
            entries = [
                plain,
                replace(plain, is_private="t"),
                replace(plain, open_flg="2"),
                replace(plain, day=("", "", "")),
            ]
            patterns = {
                "old_urls": (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),),
                "new_url": AddressPattern("https://new.example/{name}", "x"),
            }
            sides = {
                side: words(export(form, blog_of(entries), side=side, as_of=AS_OF, **patterns), "e") for side in Side
            }
            assert sides == {Side.PUBLIC: {1}, Side.REST: {2, 3, 4}, Side.DRAFTS: set()}
