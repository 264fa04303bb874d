"""Rules of the parser of Movable Type's import format: separators, odd lines, ids, limits, and any bytes at all."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.kinds import Kind
from exporter.service.export_file import FoundRecord, Misread
from exporter.service.movable_type import blocks as movable_type_blocks
from exporter.service.movable_type import file as movable_type_file
from exporter.service.movable_type.blocks import blocks
from exporter.service.movable_type.lines import is_blank
from exporter.service.movable_type.source import MovableType

HEAD = "AUTHOR: umi\nTITLE: {}\nSTATUS: Publish\nDATE: 03/0{}/2024 10:00:00\n"
ENTRY = HEAD + "-----\nBODY:\n{}\n-----\n--------\n"


def parsed(text: str | bytes) -> tuple[list[FoundRecord], list[Misread]]:
    data = text if isinstance(text, bytes) else text.encode()
    found = list(MovableType().read(io.BytesIO(data), "x.txt"))
    return [each for each in found if isinstance(each, FoundRecord)], [
        each for each in found if isinstance(each, Misread)
    ]


def bodies(text: str) -> list[Any]:
    return [each.raw.get("BODY") for each in parsed(text)[0] if each.kind is Kind.ENTRIES]


HOSTILE_BODIES = [
    "-----",
    "--------",
    "a\n-----\nb",
    "a\n--------\nb",
    "-----\n-----",
    "--------\n--------",
    "a\n-----\n--------\nb",
    "a\n-----\n\n-----\nb",
    "a\n---\n------\n-------\n---------\n -----\nb",
    "a\n-----\nNOTE:\nb",
    "a\n-----\nCOMMENT:\nno field follows",
    "a\n-----\nBODY:\na second body",
    "a\n--------\nAUTHOR: a quoted line\nand text",
    "a\n--------\nTITLE: quoted\n\nDATE is not here",
    "TITLE: in the body\nDATE: 2001/01/01\nAUTHOR: of a book",
    "Title: in the body\nStatus: Draft\nPage: 12",
    "TITLE: a book\n\nSTATUS: read it twice, and I shall again",
    "COMMENT:\nAUTHOR: x\nDATE: y",
    "a\n-----  \nb",
]


@pytest.mark.parametrize("body", HOSTILE_BODIES)
def test_separators_inside_a_body_are_text(body: str) -> None:
    text = ENTRY.format("一", 1, body) + ENTRY.format("二", 2, "次")
    found = bodies(text)
    assert len(found) == 2
    assert found[0] == body.replace("-----  \n", "-----\n")
    assert found[1] == "次"


@pytest.mark.parametrize("body", HOSTILE_BODIES)
def test_they_are_text_in_a_comment_too(body: str) -> None:
    comment = f"COMMENT:\nAUTHOR: a\nDATE: 03/02/2024 10:00:00\nx\n{body}\n-----\n"
    records, _ = parsed(
        HEAD.format("一", 1)
        + f"-----\nBODY:\nb\n-----\n{comment}{comment.replace('AUTHOR: a', 'AUTHOR: b', 1)}--------\n"
    )
    texts = [each.raw["text"] for each in records if each.kind is Kind.COMMENTS]
    assert texts == [f"x\n{body}".replace("-----  \n", "-----\n")] * 2


def test_an_example_of_the_format_inside_a_body_is_kept_whole() -> None:
    """A body may quote a whole entry. Nothing tells it from a real one, but no line of it is lost."""
    quoted = ENTRY.format("例", 2, "例の本文")
    records, misread = parsed(ENTRY.format("一", 1, f"例:\n{quoted}以上です。") + ENTRY.format("二", 3, "次"))
    assert [each.raw["TITLE"] for each in records] == ["一", "二"] or len(records) == 3
    assert "以上です。" in "".join(str(each.raw) for each in records)
    assert [each.line for each in misread if each.lost] == [8]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("piece", [1, 2, 3, 7, 64, 100_000])
def test_line_ends_and_the_sizes_of_reads_change_nothing(
    ends: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.service.movable_type.text.PIECE_BYTES", piece)
    text = "".join(ENTRY.format("海", number, "あ\n-----\nい") for number in range(1, 4))
    assert parsed(text.replace("\n", ends)) == parsed(text)
    assert bodies(text) == ["あ\n-----\nい"] * 3


@pytest.mark.parametrize("cut", [1, 10, 16, 17, 30])
def test_the_last_separators_may_be_missing(cut: int) -> None:
    text = ENTRY.format("一", 1, "本文です")
    records, misread = parsed(text[:-cut])
    assert [each.raw.get("BODY") for each in records] in (["本文です"], ["本文で"], [None], ["本文です\n----"])
    assert not any(each.lost for each in misread)


def test_entries_without_a_section_before_the_end_of_an_entry() -> None:
    records, _ = parsed(HEAD.format("一", 1) + "--------\n" + ENTRY.format("二", 2, "b"))
    assert [(each.raw["TITLE"], each.raw.get("BODY")) for each in records] == [("一", None), ("二", "b")]


def test_the_end_of_an_entry_ends_its_last_section_too() -> None:
    text = HEAD.format("一", 1) + "-----\nBODY:\nb\n--------\n" + ENTRY.format("二", 2, "c")
    assert bodies(text) == ["b", "c"]


@pytest.mark.parametrize("begin", ["START BODY:\n", "BODY:\n"])
def test_a_body_may_follow_its_head_without_a_separator(begin: str) -> None:
    assert bodies(f"{HEAD.format('一', 1)}{begin}b\nc\n--------\n{ENTRY.format('二', 2, 'd')}") == ["b\nc", "d"]


def test_a_body_may_begin_on_the_line_of_its_name() -> None:
    assert bodies(f"{HEAD.format('一', 1)}-----\nBODY: b\nc\n-----\n--------\n") == ["b\nc"]


def test_a_body_may_lack_its_name() -> None:
    records, misread = parsed(f"{HEAD.format('一', 1)}-----\nただの本文\n-----\n--------\n")
    assert records[0].raw["BODY"] == "ただの本文"
    assert [(each.line, each.reason) for each in misread] == [(6, "no section begins here; read as the body")]


def test_lines_that_fit_no_rule_are_named_and_kept() -> None:
    text = f"出力日 2024年\n\n{HEAD.format('一', 1)}続きのない行\nCOLOUR: blue\n-----\nBODY:\nb\n-----\nMEMO:\nm\n-----\n--------\nfooter\n"
    records, misread = parsed(text)
    (entry,) = records
    assert entry.raw["before"] == "出力日 2024年\n\n"
    assert entry.raw["other"] == ["続きのない行"]
    assert entry.raw["COLOUR"] == "blue"
    assert entry.raw["BODY"] == "b\n-----\nMEMO:\nm\n-----\n--------\nfooter"
    assert [(each.line, each.reason) for each in misread] == [
        (1, "no entry begins here; kept with the entry that follows"),
        (7, "'続きのない行' is not a field; kept unchanged"),
        (8, "the field COLOUR is unknown; kept unchanged"),
        (13, "'MEMO:' begins no known section; kept in the text before it"),
        (17, "no entry begins here; kept in the text before it"),
    ]


def test_unknown_fields_may_come_first_and_are_named_once() -> None:
    text = "".join(f"ID: {number}\n{ENTRY.format('海', number, 'b')}" for number in range(1, 5))
    records, misread = parsed(text)
    assert [each.raw["ID"] for each in records] == ["1", "2", "3", "4"]
    assert [each.line for each in misread] == [1]


def test_repeated_fields_are_lists_in_order() -> None:
    records, _ = parsed("CATEGORY: a\nCATEGORY: b\nCATEGORY: a\n" + ENTRY.format("海", 1, "b"))
    assert records[0].raw["CATEGORY"] == ["a", "b", "a"]
    assert records[0].raw["order"][:4] == ["CATEGORY", "CATEGORY", "CATEGORY", "AUTHOR"]


def test_values_lose_one_space_alone() -> None:
    records, _ = parsed("TITLE:  a  \nAUTHOR:b\nDATE: x\n-----\nBODY:\n\n\nc\n\n-----\n--------\n")
    assert (records[0].raw["TITLE"], records[0].raw["AUTHOR"], records[0].raw["BODY"]) == (" a  ", "b", "\n\nc\n")


def test_two_exports_give_the_same_ids_and_an_edited_text_changes_no_id() -> None:
    comments = "COMMENT:\nAUTHOR: a\nDATE: 03/09/2024 10:00:00\n{}\n-----\n"
    texts = [
        HEAD.format("一", 1) + f"-----\nBODY:\n{body}\n-----\n{comments.format(said)}--------\n"
        for body, said in (("b", "s"), ("b", "s"), ("edited", "edited too"))
    ]
    first, second, edited = ([each.id for each in parsed(text)[0]] for text in texts)
    assert first == second == edited
    assert first[0].startswith("20240301100000-")
    assert first[1].startswith("20240309100000-")


@pytest.mark.parametrize("date", ["", "DATE: soon\n", "DATE: 02/30/2024 10:00:00\n"])
def test_an_entry_without_a_date_is_named_by_what_an_edit_leaves(date: str) -> None:
    first, edited = (
        parsed(f"AUTHOR: u\nTITLE: {title}\nBASENAME: umi\n{date}-----\nBODY:\n{body}\n-----\n--------\n")[0][0].id
        for title, body in (("海", "a"), ("山", "b"))
    )
    assert first == edited
    assert first.startswith("undated-")


def test_comments_that_wait_too_long_are_yielded_before_their_entry_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movable_type_file, "_MAX_WAITING", 100)
    comment = "COMMENT:\nAUTHOR: a\nDATE: 03/02/2024 10:00:0{}\nこんにちは\n-----\n"
    text = HEAD.format("一", 1) + "-----\nBODY:\nb\n-----\n" + "".join(map(comment.format, range(9)))
    records, misread = parsed(text + "EXCERPT:\nlate\n-----\n--------\n" + ENTRY.format("二", 2, "c"))
    assert [each.kind for each in records] == [Kind.ENTRIES, *[Kind.COMMENTS] * 9, Kind.ENTRIES]
    assert records[9].raw["text"].endswith("EXCERPT:\nlate")
    assert len(misread) == 1


def test_an_excerpt_after_the_comments_belongs_to_the_entry() -> None:
    comment = "COMMENT:\nAUTHOR: a\nDATE: 03/02/2024 10:00:00\nこんにちは\n-----\n"
    records, misread = parsed(
        HEAD.format("一", 1) + f"-----\nBODY:\nb\n-----\n{comment}EXCERPT:\nlate\n-----\n--------\n"
    )
    assert (records[0].raw["EXCERPT"], misread) == ("late", [])


def test_an_entry_beyond_the_limit_is_cut_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (movable_type_blocks, movable_type_file):
        monkeypatch.setattr(module, "MAX_CHARACTERS", 1000)
    text = ENTRY.format("一", 1, "a" * 3000) + ENTRY.format("二", 2, "b\n-----\n" * 600) + ENTRY.format("三", 3, "c")
    records, misread = parsed(text)
    assert [each.raw["TITLE"] for each in records] == ["一", "二", "三"]
    assert all(len(each.raw["BODY"]) <= 1000 for each in records)
    assert [each.lost for each in misread] == [True, True]
    assert records[2].raw["BODY"] == "c"


def test_a_comment_beyond_the_limit_is_cut_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movable_type_file, "MAX_COMMENT_CHARACTERS", 100)
    comment = "COMMENT:\nAUTHOR: a\nDATE: 03/02/2024 10:00:0{}\n{}\n-----\n"
    comments = [comment.format(number, "あ" * size) for number, size in ((1, 99), (2, 500), (3, 20), (4, 101))]
    records, misread = parsed(HEAD.format("一", 1) + f"-----\nBODY:\nb\n-----\n{''.join(comments)}--------\n")
    assert [len(each.raw["text"]) for each in records[1:]] == [99, 100, 20, 100]
    assert [(each.line, each.lost) for each in misread] == [(17, True), (27, True)]


def test_a_line_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movable_type_blocks, "MAX_CHARACTERS", 1000)
    monkeypatch.setattr("exporter.service.movable_type.text.PIECE_BYTES", 64)
    text = HEAD.format("一", 1) + "-----\nBODY:\n" + "a" * 5000 + "\n-----\n--------\n" + ENTRY.format("二", 2, "c")
    assert [each.raw["TITLE"] for each in parsed(text)[0]] == ["一", "二"]


def test_bytes_that_are_no_text_are_named_with_their_line() -> None:
    data = ENTRY.format("海", 1, "あい\nうXえ\nお").encode().replace(b"X", b"\xe3\x81")
    records, misread = parsed(data)
    assert records[0].raw["BODY"] == "あい\nう\ufffd\ufffdえ\nお"
    assert [(each.line, each.lost) for each in misread] == [(8, True)]
    assert "U+FFFD" in misread[0].reason


PIECES = st.lists(
    st.sampled_from(
        [
            "-----", "--------", "-----", "--------", "------", "", "", "AUTHOR: a", "TITLE: 海", "DATE: 01/02/2003 04:05:06",
            "STATUS: Draft", "CATEGORY: c", "TAGS: a,b", "ODD: x", "BODY:", "EXTENDED BODY:", "EXCERPT:", "KEYWORDS:",
            "COMMENT:", "PING:", "CF1_a:", "NOTE:", "URL: http://a.example/", "EMAIL: e", "BLOG NAME: n", "text", "本文",
            "KEYWORDS: k", " AUTHOR : b", "BODY: inline",
        ]
    ) | st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12),
    max_size=40,
)  # fmt: skip


def letters(text: str) -> Counter[str]:
    """Count the characters other than those of separators and those that nobody sees."""
    return Counter(char for char in text if not is_blank(char) and char != "-")


def written(raw: dict[str, Any]) -> Iterator[str]:
    """Yield what a record keeps of its file."""
    yield raw.get("before", "")
    if "type" in raw:
        yield f"{raw['type']}:{raw['text']}"
    values = {name: iter(value if isinstance(value, list) else [value]) for name, value in raw.items()}
    other = iter(raw.get("other", []))
    for name in raw["order"]:
        yield next(other) if not name else f"{name}:{next(values[name])}"


@pytest.mark.parametrize("examples", [60, pytest.param(400, marks=pytest.mark.thorough)])
def test_every_character_is_in_a_record(examples: int) -> None:
    @settings(max_examples=examples)
    @given(PIECES)
    def check(lines: list[str]) -> None:
        text = "\n".join(lines)
        records, misread = parsed(text.removeprefix("\ufeff"))
        if not any(each.lost for each in misread):
            kept = "".join(piece for each in records for piece in written(each.raw))
            implied = sum(each.reason.endswith("read as the body") for each in misread)
            assert letters(kept) == letters(text.removeprefix("\ufeff") + "BODY:" * implied)

    check()


@given(PIECES, st.integers(1, 50))
@settings(max_examples=100, deadline=None)
def test_blocks_are_the_same_for_any_pieces(lines: list[str], size: int) -> None:
    text = "\n".join(lines)
    whole = list(blocks([text]))
    assert list(blocks([text[at : at + size] for at in range(0, len(text), size)])) == whole
    assert "".join(f"{each.separator}\n{each.text}" if each.separator else each.text for each in whole).rstrip(
        "\n"
    ) == ("\n".join(line.rstrip(" \t") if set(line.rstrip(" \t")) == {"-"} else line for line in lines).rstrip("\n"))


@pytest.mark.parametrize("examples", [40, pytest.param(300, marks=pytest.mark.thorough)])
def test_no_bytes_raise(examples: int) -> None:
    @settings(max_examples=examples)
    @given(
        st.binary(max_size=400) | PIECES.map(lambda lines: "\n".join(lines).encode("cp932", "ignore")), st.booleans()
    )
    def check(data: bytes, after_a_head: bool) -> None:
        data = ENTRY.format("海", 1, "あ").encode() + data if after_a_head else data
        service = MovableType()
        service.recognises(data)
        for found in service.read(io.BytesIO(data), "x"):
            if isinstance(found, FoundRecord):
                raw = {**found.raw, "id": found.id}
                assert (service.post(raw) if found.kind is Kind.ENTRIES else service.comment(raw)).id == found.id
                service.blog_address(raw)
                str(service.list_item(raw, 0)).encode()

    check()


@pytest.mark.parametrize(
    "head",
    [
        b"", b"\n", b"<?xml version='1.0'?><rss>", b"PK\x03\x04", b'{"TITLE": 1}', b"Title: a\nDate: b\n\nmail", b"\xff\xfe\x00",
        b"TITLE: a\nAUTHOR: b\n", b"-----\nBODY:\n", b"---\ntitle: a\n---\n", b"TITLE: a\nshopping list\nmilk\neggs\n-----\nx",
    ],
)  # fmt: skip
def test_other_files_are_not_recognised(head: bytes) -> None:
    assert not MovableType.recognises(head)


def test_a_file_with_lines_before_its_first_entry_is_recognised() -> None:
    assert MovableType.recognises(b"<pre>\nexported\n\n" + ENTRY.format("a", 1, "b").encode())
