"""The exact parser and writer: whatever the standard library reads, it reads alike, and it remembers what was sent."""

from __future__ import annotations

import json
import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.lossless_json import IntegerText, SourceDict
from tests.support.json_texts import texts, values


def standard(text: str) -> str:
    """What the standard library makes of a text, written in one way, so that NaN equals NaN."""
    return json.dumps(json.loads(text, strict=False), sort_keys=True)


@given(texts())
def test_reads_what_the_standard_library_reads(text: str) -> None:
    assert json.dumps(lossless_json.parse(text), sort_keys=True) == standard(text)


@given(values, st.booleans())
def test_reads_what_the_standard_library_writes(value: object, ensure_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ensure_ascii)
    assert json.dumps(lossless_json.parse(text), sort_keys=True) == standard(text)


@given(values)
def test_writes_the_canonical_text(value: object) -> None:
    plain = json.loads(json.dumps(value))
    expected = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert lossless_json.write(plain) == expected


@given(st.text(st.sampled_from('{}[]",:\\0123456789.eE+-truefalsn NaI\n'), max_size=20))
def test_refuses_what_the_standard_library_refuses(text: str) -> None:
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
def test_says_what_is_wrong_and_where(text: str, complaint: str) -> None:
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

    def test_what_is_inexact_inside_does_not_spread_to_the_neighbours(self) -> None:
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


def test_any_depth_is_read_and_written() -> None:
    depth = 50_000
    text = '{"a":[' * depth + "1.10" + "]}" * depth
    found = lossless_json.parse(text)
    assert not found.exact
    assert lossless_json.write(found) == text.replace("1.10", "1.1")
    assert found.text() == text
