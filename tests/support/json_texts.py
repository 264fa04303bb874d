"""Strategies that make JSON values and JSON texts as services might send them, including bad ones."""

from __future__ import annotations

import json
import random
import re
from typing import Any

from hypothesis import strategies as st

ODD_CHARACTERS = '\0\x1f\x7f\x85\u2028\u2029\ufeff\uffff\ud83d\udc00\U0001f600"\\/:,{}[]あが゛\n\r\t '

strings = st.one_of(
    st.text(st.characters(), max_size=8),
    st.text(st.sampled_from(ODD_CHARACTERS), max_size=8),
    st.sampled_from(['":', '"', ":", '":)', '"a" :', "\\", '\\":', ',"data":', "-0", ":-0", ""]),
)
integers = st.one_of(st.integers(-9, 9), st.integers(), st.integers(-(2**70), 2**70), st.just(10**400))
scalars = st.one_of(st.none(), st.booleans(), integers, st.floats(), strings)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(strings, inner, max_size=4)),
    max_leaves=12,
)
objects = st.dictionaries(strings, values, max_size=5)

_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*")|([{}\[\],:])', re.DOTALL)
_SPACES = ("", "", " ", "\n", "\t", "\r\n", "  ")


def spread(text: str, seed: int) -> str:
    """Put white space around the tokens of a JSON text."""
    chance = random.Random(seed)

    def around(found: re.Match[str]) -> str:
        return chance.choice(_SPACES) + found[0] + chance.choice(_SPACES)

    return _TOKENS.sub(around, text)


@st.composite
def written(draw: st.DrawFn, made: st.SearchStrategy[Any]) -> bytes:
    """Return the bytes of a value as the standard library writes it, with white space in any permitted place."""
    ensure_ascii = draw(st.booleans())
    text = json.dumps(draw(made), ensure_ascii=ensure_ascii)
    return spread(text, draw(st.integers(0, 2**16))).encode("utf-8", "backslashreplace")


@st.composite
def texts(draw: st.DrawFn, depth: int = 3) -> str:
    """Return a JSON text assembled from parts: keys may repeat, and numbers have any notation."""
    number = st.sampled_from(
        ["0", "-0", "1", "-7", "1.10", "1.5", "1e2", "1E400", "-1e400", "0.0", "12345678901234567890", "1e-9", "NaN"]
    )
    string = strings.map(lambda value: json.dumps(value, ensure_ascii=True))
    raw_string = st.sampled_from(['"a\nb"', '"\x00"', '"\t"', '"\x1f\\n"'])
    scalar = st.one_of(number, string, raw_string, st.sampled_from(["true", "false", "null"]))
    if depth == 0:
        return draw(scalar)
    inner = texts(depth=depth - 1)
    keys = st.sampled_from(['"a"', '"b"', '""', '"\\":"', '"\\u0061"', '":"', '"a\\":"'])
    space = st.sampled_from(["", "", "", " ", "\n"])
    colon = st.sampled_from([":", ":", ":", " :", ": ", "\t: "])
    member = st.tuples(keys, colon, space, inner).map("".join)
    container = st.one_of(
        st.lists(member, max_size=3).map(lambda parts: "{" + ",".join(parts) + "}"),
        st.lists(inner, max_size=3).map(lambda parts: "[" + ",".join(parts) + "]"),
    )
    return draw(st.one_of(scalar, container, container))
