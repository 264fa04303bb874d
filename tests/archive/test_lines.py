"""Lines are written and parsed with any ID and record, and every fault of a line is found."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive.lines import RecordLine, as_latest, latest_line, put_line, remove_line, split
from exporter.lossless_json import Frozen
from tests.support.json_texts import objects, strings, texts

DIGEST = "ab" * 32


def freeze(text: str) -> Frozen:
    return lossless_json.freeze(lossless_json.loads(text.encode("utf-8", "backslashreplace")))


class TestRoundTrip:
    @given(strings, texts())
    @example('x","data":{', '{"a":",\\"data\\":{}}"}')
    @example("\ud83d", '{"data":{"data":1.10}}')
    @example("\n\u2028", '{"a":1,"data":2,"data":3}')
    def test_a_put_line(self, record_id: str, text: str) -> None:
        frozen = freeze(f'{{"record":{text}}}')
        line = put_line(record_id, frozen)
        assert line.count(b"\n") == 1
        assert line.endswith(b"}\n")
        found = split(line)
        record_id = json.loads(json.dumps(record_id))
        assert found == RecordLine(record_id, False, frozen.digest, frozen.raw_digest, frozen.data)
        assert found.frozen == frozen
        assert found.identity == frozen.identity
        assert found.fault() is None
        assert split(line.rstrip(b"\n")) == found

    @given(strings, st.integers(1, 2**31), texts())
    def test_a_latest_line(self, record_id: str, version: int, text: str) -> None:
        frozen = freeze(f'{{"record":{text}}}')
        found = split(latest_line(record_id, version, frozen))
        assert found.record_id == json.loads(json.dumps(record_id))
        assert (found.version, found.frozen, found.removed) == (version, frozen, False)

    @given(strings, st.integers(1, 2**31), st.integers(1, 2**31), texts())
    @example('x","data":{', 1, 2, '{"a":",\\"data\\":{}}"}')
    @example("\ud800\udc00", 1, 2, "0")
    def test_a_line_of_either_place_as_one_of_latest(self, record_id: str, old: int, new: int, text: str) -> None:
        record_id = json.loads(json.dumps(record_id))  # JSON joins two surrogates that form a pair into one character
        frozen = freeze(f'{{"record":{text}}}')
        expected = latest_line(record_id, new, frozen)
        assert as_latest(put_line(record_id, frozen), new) == expected
        assert as_latest(latest_line(record_id, old, frozen), new) == expected
        assert as_latest(put_line(record_id, frozen).rstrip(b"\n"), new) == expected

    def test_a_given_version_applies_to_a_line_without_one(self) -> None:
        frozen = freeze("{}")
        for record_id in ("4", '"'):
            assert split(put_line(record_id, frozen), 7).version == 7
            assert split(latest_line(record_id, 3, frozen), 7).version == 3

    @given(strings, objects)
    @example("1", {"absent": 1, "data": {}})
    def test_a_tombstone(self, record_id: str, evidence: dict[str, Any]) -> None:
        evidence = json.loads(json.dumps(evidence).replace("NaN", "0").replace("Infinity", "0"))
        line = remove_line(record_id, evidence)
        assert line.count(b"\n") == 1
        found = split(line)
        assert found.record_id == json.loads(json.dumps(record_id))
        assert (found.removed, found.evidence, found.data, found.fault()) == (True, evidence, b"", None)

    def test_the_members_have_the_documented_order(self) -> None:
        frozen = freeze('{"a":1.10}')
        sha, raw = frozen.digest.hex(), hashlib.sha256(b'{"a":1.10}').hexdigest()
        body = f'"sha256":"{sha}","raw_sha256":"{raw}","data":{{"a":1.10}}}}\n'
        assert put_line("4", frozen) == f'{{"op":"put","id":"4",{body}'.encode()
        assert latest_line("4", 3, frozen) == f'{{"id":"4","version":3,{body}'.encode()
        assert remove_line("4", {"x": [1]}) == b'{"op":"remove","id":"4","evidence":{"x":[1]}}\n'

    def test_members_unknown_to_this_format_are_passed_over(self) -> None:
        line = f'{{"op":"put","id":"4","seen":[1],"sha256":"{DIGEST}","note":"x","data":{{}}}}\n'.encode()
        assert split(line).digest == bytes.fromhex(DIGEST)
        line = b'{"op":"remove","id":"4","evidence":{},"data":1}\n'
        assert split(line).removed


class TestNoLines:
    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"\n",
            b"nonsense\n",
            b"[]\n",
            b"null\n",
            b"{}\n",
            b'{"op":"put","id":"4"}\n',
            b'{"op":"remove","id":"4"}\n',
            b'{"op":"remove","id":4,"evidence":{}}\n',
            b'{"op":"remove","id":"4","evidence":null}\n',
            b'{"op":"remove","id":"4","evidence":"x"}\n',
            b'{"op":"remove","id":"4","evidence":{}\n',
            f'{{"op":"gone","id":"4","sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'{{"op":"put","id":4,"sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'{{"op":"put","id":null,"sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'{{"op":"put","sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'{{"op":"put","id":"4","sha256":"{DIGEST}","data":{{}}\n'.encode()[:-2] + b"\n",
            f'{{"op":"put","id":"4","sha256":"{DIGEST[:-2]}","data":{{}}}}\n'.encode(),
            f'{{"op":"put","id":"4","sha256":"{DIGEST[:-1]}x","data":{{}}}}\n'.encode(),
            b'{"op":"put","id":"4","sha256":null,"data":{}}\n',
            f'{{"op":"put","id":"4","sha256":"{DIGEST}","raw_sha256":"","data":{{}}}}\n'.encode(),
            f'{{"op":"put","id":"4","sha256":"{DIGEST}","raw_sha256":7,"data":{{}}}}\n'.encode(),
            f'{{"id":"4","version":"3","sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'{{"id":"4","version":0,"sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'{{"id":"4","version":true,"sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'{{"id":"4","version":4294967296,"sha256":"{DIGEST}","data":{{}}}}\n'.encode(),
            f'["id","4","sha256","{DIGEST}","data":{{}}}}\n'.encode(),
        ],
    )
    def test_are_refused(self, line: bytes) -> None:
        with pytest.raises(ValueError):
            split(line)

    @given(strings, texts(), st.data())
    def test_a_flipped_bit_is_refused_or_a_fault_or_in_the_id(
        self, record_id: str, text: str, data: st.DataObject
    ) -> None:
        line = bytearray(put_line(record_id, freeze(f'{{"record":{text}}}')))
        before = split(bytes(line))
        place = data.draw(st.integers(0, len(line) - 2))
        line[place] ^= 1 << data.draw(st.integers(0, 7))
        try:
            found = split(bytes(line))
        except ValueError:
            return
        assert found.fault() or found.record_id != before.record_id or found.identity == before.identity


class TestFaults:
    def fault(self, line: bytes, old: bytes, new: bytes) -> str | None:
        assert line.count(old) == 1
        return split(line.replace(old, new)).fault()

    def test_changed_data(self) -> None:
        assert (
            self.fault(put_line("4", freeze('{"a":1}')), b'{"a":1}', b'{"a":2}') == "its data does not match its sha256"
        )

    def test_data_that_is_no_json(self) -> None:
        assert self.fault(put_line("4", freeze('{"a":1}')), b'{"a":1}', b'{"a":}') == "its data is not JSON"

    def test_changed_data_that_is_stored_as_it_was_sent(self) -> None:
        line = put_line("4", freeze('{"a":1.10}'))
        assert self.fault(line, b"1.10", b"1.100") == "its data does not match its raw_sha256"
        assert self.fault(line, b"1.10", b"1.20") == "its data does not match its sha256"

    def test_a_missing_raw_hash(self) -> None:
        frozen = freeze('{"a":1.10}')
        assert (
            split(put_line("4", Frozen(frozen.data, frozen.digest))).fault() == "its data does not match its raw_sha256"
        )

    def test_an_unexpected_raw_hash(self) -> None:
        frozen = freeze('{"a":1}')
        line = put_line("4", Frozen(frozen.data, frozen.digest, frozen.digest))
        assert split(line).fault() == "its data does not match its raw_sha256"

    def test_data_that_is_not_canonical(self) -> None:
        line = put_line("4", freeze('{"a":1,"b":2}'))
        complaint = "its data is not in canonical form"
        assert self.fault(line, b'{"a":1,"b":2}', b'{"b":2,"a":1}') == complaint
        assert self.fault(line, b'{"a":1,"b":2}', b'{"a":1, "b":2}') == complaint
