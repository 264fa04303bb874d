"""Stored JSON restores the value and, if the value does not contain everything, the text as sent.

The exact parser reads the same texts as the standard library, with the same values, and remembers the text as sent.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.lossless_json import Frozen, IntegerText, NotJson, SourceDict
from tests.support.json_texts import objects, strings, texts, values, written

FEW = settings(max_examples=30)
"""For texts that take long to make."""


def canonical(value: Any) -> bytes:
    """Return the canonical bytes, as FORMAT.md defines them."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def pairs(text: str) -> str:
    """Return a text read without loss: objects as lists of members, numbers as written."""
    value = json.loads(
        text,
        strict=False,
        object_pairs_hook=lambda members: {"members": [list(member) for member in members]},
        parse_int=lambda digits: {"number": digits},
        parse_float=lambda digits: {"number": digits},
        parse_constant=lambda name: {"number": name},
    )
    return json.dumps(value)


class TestRoundTrip:
    @FEW
    @given(written(objects))
    @example(b'{"a":"\\ud83d","\\udc00":1}')
    @example(b'{"a":12345678901234567890123}')
    @example(b'{"\\u2028":"\\u0000\\u0085"}')
    def test_output_of_the_standard_library_is_stored_canonically(self, body: bytes) -> None:
        frozen = lossless_json.freeze(lossless_json.loads(body))
        expected = canonical(json.loads(body))
        assert frozen.data == expected
        assert frozen.digest == hashlib.sha256(expected).digest() == frozen.identity
        assert frozen.raw_digest is None
        assert b"\n" not in frozen.data
        assert lossless_json.freeze(lossless_json.loads(frozen.data)) == frozen

    @FEW
    @given(texts())
    def test_a_text_of_any_notation_is_stored_with_nothing_lost(self, text: str) -> None:
        text = f'{{"record":{text}}}'
        frozen = lossless_json.freeze(lossless_json.loads(text.encode()))
        assert pairs(frozen.data.decode()) == pairs(text) or (
            frozen.raw_digest is None and frozen.data == canonical(json.loads(text, strict=False))
        )
        assert frozen.digest == hashlib.sha256(canonical(json.loads(text, strict=False))).digest()
        assert b"\n" not in frozen.data
        assert lossless_json.freeze(lossless_json.loads(frozen.data)) == frozen

    @FEW
    @given(values)
    def test_any_value_is_loaded_as_the_standard_library_does(self, value: Any) -> None:
        text = json.dumps(value)
        assert canonical(lossless_json.loads(text.encode())) == canonical(json.loads(text))

    @FEW
    @given(values)
    def test_canonical_bytes_are_those_of_the_document(self, value: Any) -> None:
        plain = json.loads(json.dumps(value))
        assert lossless_json.canonical(plain) == canonical(plain)


class TestLossless:
    @pytest.mark.parametrize(
        "text",
        [
            '{"a":1,"a":1}',
            '{"a":1,"b":{"c":[{"d":1,"d":2}]}}',
            '{"":1,"":2}',
            '{"a":1,"\\u0061":2}',
            '{"a":{"x":1},"a":{"y":2}}',
            '{"price":1.10}',
            '{"zero":-0}',
            '{"zero":[0,-0]}',
            '{"much":1e400}',
            '{"much":-1E+400}',
            '{"tiny":1e-400}',
            '{"pi":3.14159265358979323846264338327950288}',
            '{"one":1e0}',
        ],
    )
    def test_text_that_parsing_would_change_is_stored_as_sent(self, text: str) -> None:
        frozen = lossless_json.freeze(lossless_json.loads(text.encode()))
        assert frozen.data == text.encode()
        assert frozen.digest == hashlib.sha256(canonical(json.loads(text))).digest()
        assert frozen.raw_digest == hashlib.sha256(text.encode()).digest() == frozen.identity
        assert lossless_json.freeze(lossless_json.loads(frozen.data)) == frozen

    @pytest.mark.parametrize(
        ("sent", "stored"),
        [
            (b'\xef\xbb\xbf{"a":1}', b'{"a":1}'),
            (b'{"b":NaN,"a":-Infinity}', b'{"a":-Infinity,"b":NaN}'),
            (b'{"a":"x\ny\x00"}', b'{"a":"x\\ny\\u0000"}'),
            (b'{"a":1,"a":"x\ny"}', b'{"a":1,"a":"x\\u000ay"}'),
            (b'{"a":"\\uD83D"}', b'{"a":"\\ud83d"}'),
            (b'{"a":"\\ud83d\\ude00"}', '{"a":"😀"}'.encode()),
            (b'{"a":18446744073709551616}', b'{"a":18446744073709551616}'),
            (b'{"a":1.5e0, "a" : 2}', b'{"a":1.5e0,"a":2}'),
            (b'{"a":"\\u2028\\/"}', '{"a":"\u2028/"}'.encode()),
        ],
    )
    def test_examples(self, sent: bytes, stored: bytes) -> None:
        frozen = lossless_json.freeze(lossless_json.loads(sent))
        assert frozen.data == stored
        assert lossless_json.freeze(lossless_json.loads(stored)) == frozen

    def test_an_integer_of_ten_thousand_digits(self) -> None:
        body = b'{"a":' + b"7" * 10_000 + b"}"
        frozen = lossless_json.freeze(lossless_json.loads(body))
        assert frozen == Frozen(body, hashlib.sha256(body).digest())

    @pytest.mark.parametrize("depth", [255, 1025, pytest.param(100_000, marks=pytest.mark.thorough)])
    def test_nesting_of_any_depth(self, depth: int) -> None:
        body = b'{"a":' + b"[" * depth + b'{"b":1}' + b"]" * depth + b"}"
        frozen = lossless_json.freeze(lossless_json.loads(body))
        assert frozen == Frozen(body, hashlib.sha256(body).digest())

    def test_depth_with_a_duplicate_key_at_the_bottom(self) -> None:
        body = b'{"a":' * 5_000 + b'{"b":1,"b":2}' + b"}" * 5_000
        frozen = lossless_json.freeze(lossless_json.loads(body))
        assert frozen.data == body
        assert frozen.raw_digest is not None

    def test_one_odd_record_of_a_page_leaves_the_others_canonical(self) -> None:
        page = lossless_json.loads(b'{"list":[{"b":1,"a":2},{"b":1,"b":2},{"z":1.0}]}')["list"]
        assert [lossless_json.freeze(item).data for item in page] == [b'{"a":2,"b":1}', b'{"b":1,"b":2}', b'{"z":1.0}']

    def test_two_texts_of_the_same_value_are_two_states(self) -> None:
        first, second = (lossless_json.freeze(lossless_json.loads(text)) for text in (b'{"a":1.10}', b'{"a":1.1}'))
        assert first.digest == second.digest
        assert first.identity != second.identity


class TestFastPath:
    """If the fast parser claims that it lost nothing, this is true; otherwise the exact parser reads the text."""

    @pytest.mark.parametrize(
        "text",
        [
            r'{"a":1,"a":"\":"}',
            r'{"\":":1}',
            r'{"\":":1,"\":":2}',
            r'{"a":":)"}',
            r'{"a":"\":)","a":1}',
            '{"a" :1,"a":2}',
            '{"a"\n:1,"a"\t:2}',
            '{"a":1,"a" :2}',
            r'{"a":1,"a":"\" :"}',
            r'{"a\\":1,"a\\":2}',
            r'{"a":"\\","a":":"}',
            '{":":1,":":2}',
            r'["\":", {"a":1,"a":2}]',
        ],
    )
    def test_adversarial_texts_lose_no_member(self, text: str) -> None:
        value = lossless_json.loads(text.encode())
        exact = lossless_json.parse(text)
        assert value == exact
        assert lossless_json.freeze({"record": value} if isinstance(value, list) else value).digest
        if isinstance(exact, SourceDict) and not exact.exact:
            assert isinstance(value, SourceDict)
            assert not value.exact

    @FEW
    @given(texts())
    def test_both_paths_agree(self, text: str) -> None:
        value = lossless_json.loads(text.encode())
        exact = lossless_json.parse(text)
        assert canonical(value) == canonical(exact)
        if isinstance(exact, SourceDict):
            assert lossless_json.freeze(value) == lossless_json.freeze(exact)
            assert isinstance(value, SourceDict) or exact.exact

    @FEW
    @given(st.lists(st.tuples(strings, strings), min_size=1, max_size=4), st.data())
    def test_a_duplicate_member_is_never_dropped(self, members: list[tuple[str, str]], data: st.DataObject) -> None:
        members.insert(data.draw(st.integers(0, len(members))), (data.draw(st.sampled_from(members))[0], "again"))
        body = ",".join(f"{json.dumps(key)}:{json.dumps(text)}" for key, text in members)
        frozen = lossless_json.freeze(lossless_json.loads(f"{{{body}}}".encode()))
        found: list[tuple[str, str]] = json.loads(frozen.data, object_pairs_hook=list)
        assert found == json.loads(f"{{{body}}}", object_pairs_hook=list)
        assert len(found) == len(members)

    @pytest.mark.parametrize("text", ["[0]", '{"a":0}', '{"a":false,"b":[-1,0]}', '{"a":"-0"}', '{"day":"2020-01-02"}'])
    def test_plain_texts_take_it(self, text: str) -> None:
        value = lossless_json.loads(text.encode())
        assert type(value) in {dict, list}
        assert value == json.loads(text)

    @pytest.mark.parametrize("text", ['{"a":-0}', '{"a": -0}', '{"a":[-0]}', '{"a":[1,-0]}', '{"a":\n-0}', '{"a":0.5}'])
    def test_texts_of_numbers_leave_it(self, text: str) -> None:
        assert isinstance(lossless_json.loads(text.encode()), SourceDict)


class TestValues:
    @FEW
    @given(st.one_of(st.binary(max_size=40), written(values), texts().map(lambda text: text.encode())))
    @example(b'{"a":[{"b":18446744073709551616}]}')
    @example(b'{"a":[18446744073709551615,-9223372036854775808,-9223372036854775809,-0,1.10,1e400]}')
    @example(b'{"a":1,"b":"\\ud83d","c":NaN}')
    @example(b'{"b":1,"a":2,"\\u0062":3}')
    @example(b'\xef\xbb\xbf{"a":[[],{}]}')
    def test_values_equal_those_of_the_exact_parser(self, body: bytes) -> None:
        def shown(read: Callable[[bytes], Any]) -> str | None:
            try:
                return lossless_json.write(read(body), ordered=True)
            except ValueError:  # not JSON, or not UTF-8
                return None

        expected = shown(lambda text: lossless_json.parse(text.removeprefix(b"\xef\xbb\xbf").decode()))
        assert shown(lossless_json.values) == shown(lossless_json.loads) == expected
        assert shown(lambda text: lossless_json.values(memoryview(text))) == expected
        simple = lossless_json.simple_values(body, 64)
        assert simple is None or lossless_json.write(simple, ordered=True) == expected

    @pytest.mark.parametrize(
        ("body", "is_simple"),
        [
            (b'{"a":[1,2.5,-0,"\\u0031"],"b":999999999999999999}', True),
            (b'{"a":1000000000000000000}', False),
            (b'{"a":"0123456789012345678"}', False),
            (b"[" * 63 + b"]" * 63, True),
            (b"[" * 64 + b"]" * 64, False),
            (b'{"a":NaN}', False),
            (b"{", False),
        ],
    )
    def test_a_simple_text_has_no_long_number_and_few_levels(self, body: bytes, is_simple: bool) -> None:
        found = lossless_json.simple_values(body, 64)
        assert found == (json.loads(body) if is_simple else None)


class TestGarbage:
    @FEW
    @given(st.one_of(st.binary(max_size=40), texts().map(lambda text: text.encode("utf-8", "backslashreplace"))))
    def test_objects_are_recognized_as_by_loads(self, body: bytes) -> None:
        try:
            loaded = lossless_json.loads(body)
        except NotJson:
            loaded = None
        assert lossless_json.is_object(body) == isinstance(loaded, dict)

    @given(st.binary(max_size=40))
    def test_bytes_of_any_kind_are_loaded_or_not_json(self, body: bytes) -> None:
        complaint = "at"
        try:
            lossless_json.loads(body)
        except NotJson as error:
            complaint = str(error)
        assert complaint
        assert "\n" not in complaint

    @FEW
    @given(texts(), st.integers(0, 200), st.integers(0, 7))
    def test_a_flipped_bit_never_raises_anything_else(self, text: str, place: int, bit: int) -> None:
        body = bytearray(text.encode("utf-8", "backslashreplace"))
        body[place % len(body)] ^= 1 << bit
        try:
            lossless_json.loads(bytes(body))
        except NotJson:
            assert body != text.encode("utf-8", "backslashreplace")

    @pytest.mark.parametrize(
        "body",
        [b"", b" ", b"<html>", b"\xff", b'{"a":1', b"[" * 20_000, b'{"a":' * 20_000, b"\xef\xbb\xbf", b"{} {}"],
    )
    def test_examples(self, body: bytes) -> None:
        with pytest.raises(NotJson):
            lossless_json.loads(body)


class TestMetadata:
    def test_members_keep_their_order(self) -> None:
        assert lossless_json.dumps({"b": 1, "a": [None, True]}) == b'{"b":1,"a":[null,true]}'

    def test_pretty_is_indented_by_two(self) -> None:
        assert lossless_json.dumps({"a": [1]}, pretty=True) == b'{\n  "a": [\n    1\n  ]\n}'

    @pytest.mark.parametrize("pretty", [False, True])
    def test_values_that_the_fast_writer_refuses_are_written(self, pretty: bool) -> None:
        data = lossless_json.dumps({"title": "\ud83d", "much": 2**80}, pretty=pretty)
        assert lossless_json.loads(data) == {"title": "\ud83d", "much": 2**80}

    @given(strings)
    def test_a_string_is_written_as_json_in_valid_utf8(self, value: str) -> None:
        data = lossless_json.text(value)
        assert data == canonical(value)
        assert b"\n" not in data
        assert json.loads(data) == json.loads(json.dumps(value))


def standard(text: str) -> str:
    """Return the standard library's reading of a text in a single notation; NaN equals NaN."""
    return json.dumps(json.loads(text, strict=False), sort_keys=True)


@FEW
@given(texts())
def test_reads_the_same_as_the_standard_library(text: str) -> None:
    assert json.dumps(lossless_json.parse(text), sort_keys=True) == standard(text)


@FEW
@given(values, st.booleans())
def test_reads_the_output_of_the_standard_library(value: object, ensure_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ensure_ascii)
    assert json.dumps(lossless_json.parse(text), sort_keys=True) == standard(text)


@FEW
@given(values)
def test_writes_the_canonical_text(value: object) -> None:
    plain = json.loads(json.dumps(value))
    expected = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert lossless_json.write(plain) == expected


@given(st.text(st.sampled_from('{}[]",:\\0123456789.eE+-truefalsn NaI\n'), max_size=20))
def test_refuses_the_same_as_the_standard_library(text: str) -> None:
    try:
        expected = standard(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"character|char "):
            lossless_json.parse(text)
    else:
        assert json.dumps(lossless_json.parse(text), sort_keys=True) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "a value is missing at character 0"),
        ("[1 2]", "a comma or the end of the container is missing at character 3"),
        ('{"a":1]', "a comma or the end of the container is missing at character 6"),
        ('{"a" 1}', "a colon is missing at character 5"),
        ('{"a":1,}', "a key is missing at character 7"),
        ("{1:2}", "a key is missing at character 1"),
        ("[1] 2", "something follows the value at character 4"),
        ("nul", "a value is missing at character 0"),
        ("-NaN", "a value is missing at character 0"),
        ("[1,", "a value is missing at character 3"),
        ("01", "something follows the value at character 1"),
    ],
)
def test_names_the_error_and_its_position(text: str, complaint: str) -> None:
    with pytest.raises(ValueError) as caught:
        lossless_json.parse(text)
    assert str(caught.value) == complaint


@pytest.mark.parametrize("text", ['"open', '"\\x"', '"\\u12"', '{"a'])
def test_a_broken_string_is_an_error_with_a_position(text: str) -> None:
    with pytest.raises(ValueError, match=r"char \d+"):
        lossless_json.parse(text)


def test_special_numbers_are_read() -> None:
    nan, infinity, negative = lossless_json.parse("[NaN, Infinity, -Infinity]")
    assert math.isnan(nan)
    assert (infinity, negative) == (math.inf, -math.inf)


@pytest.mark.parametrize("empty", ["{}", "[]", "[ ]", "{\n}", '{"a":{},"b":[]}', "[[],{}]"])
def test_empty_containers(empty: str) -> None:
    assert lossless_json.parse(empty) == json.loads(empty)


class TestSource:
    @pytest.mark.parametrize(
        "text", ['{"a":1,"a":2}', '{"b":{"a":1,"a":1}}', '{"b":[[1.10]]}', '{"a":-0}', '{"a":1e400}', '{"a":1E2}']
    )
    def test_an_object_that_parsing_changes_is_not_exact(self, text: str) -> None:
        found = lossless_json.parse(text)
        assert isinstance(found, SourceDict)
        assert not found.exact
        assert found.text() == text

    @pytest.mark.parametrize("text", ['{"a":1.5}', '{"a":1e+16}', '{"a":[1,-2,0.1]}', '{"a":NaN}', '{"a":"1.10"}'])
    def test_an_object_that_parsing_keeps_is_exact(self, text: str) -> None:
        assert lossless_json.parse(text).exact

    def test_an_inexact_member_does_not_affect_its_neighbours(self) -> None:
        first, second = lossless_json.parse('[{"a":{"b":1.10}},{"a":{"b":1.1}}]')
        assert (first.exact, second.exact) == (False, True)

    def test_its_text_has_no_white_space_between_tokens_and_keeps_that_within_strings(self) -> None:
        found = lossless_json.parse(' [ {\n "a b" : [ 1 ,\t2 ] ,\r\n "a b" : "x  \\" y" } ] ')[0]
        assert found.text() == '{"a b":[1,2],"a b":"x  \\" y"}'

    def test_raw_control_characters_become_escapes(self) -> None:
        found = lossless_json.parse('{"a":"x\n\x00\ty","a":1}')
        assert found.text() == '{"a":"x\\u000a\\u0000\\u0009y","a":1}'


class TestLongIntegers:
    def test_digits_beyond_what_python_converts_are_kept_as_text(self) -> None:
        digits = "9" * 10_000
        found = lossless_json.parse(f'{{"a":{digits},"b":-{digits}}}')
        assert isinstance(found["a"], IntegerText)
        assert (found["a"], found["b"]) == (digits, f"-{digits}")
        assert found.exact
        assert lossless_json.write(found) == f'{{"a":{digits},"b":-{digits}}}'

    def test_the_longest_that_python_converts_is_an_integer(self) -> None:
        digits = "9" * sys.int_info.default_max_str_digits
        assert lossless_json.parse(digits) == int(digits)
        assert isinstance(lossless_json.parse(digits + "9"), IntegerText)


@pytest.mark.no_cover
@pytest.mark.parametrize("depth", [2_000, pytest.param(50_000, marks=pytest.mark.thorough)])
def test_any_depth_is_read_and_written(depth: int) -> None:
    text = '{"a":[' * depth + "1.10" + "]}" * depth
    found = lossless_json.parse(text)
    assert not found.exact
    assert lossless_json.write(found) == text.replace("1.10", "1.1")
    assert found.text() == text
