"""The small documents: written in the documented order, read back unchanged, and refused if they are invalid."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from exporter import __version__
from exporter.archive import manifest
from exporter.archive.manifest import ArchiveInfo, KindCounts, Manifest, RecordProblem, SegmentInfo, version_sums
from exporter.errors import ArchiveDamaged, NewerFormat, NoArchive
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.translation import translated

INFO = ArchiveInfo("sea.example", "2026-01-31T12:34:56Z")
MANIFEST = Manifest(
    version=2,
    parent={"version": 1, "sha256": "ab" * 32},
    blog_id="sea.example",
    base_url="https://api.example",
    started_at="2026-01-31T12:34:56Z",
    finished_at="2026-01-31T12:35:56Z",
    counts={str(kind): KindCounts(4, 1, 2, 3) for kind in Kind},
    completeness={"complete": False, "sweeps": 2},
    problems=[RecordProblem("entries", "42", "答えない"), RecordProblem("comments", None, "page 3")],
    files={f"{kind}.jsonl": SegmentInfo(3, 300, "cd" * 32) for kind in Kind},
)


class TestArchiveInfo:
    def test_round_trip(self) -> None:
        data = INFO.encode()
        assert ArchiveInfo.decode(data, "a") == INFO
        assert json.loads(data) == {
            "format": "blog-exporter-archive",
            "format_version": 1,
            "blog_id": "sea.example",
            "created_at": "2026-01-31T12:34:56Z",
            "tool": f"blog-exporter {__version__}",
        }
        assert list(json.loads(data)) == ["format", "format_version", "blog_id", "created_at", "tool"]
        assert data.endswith(b"}\n")

    def test_only_another_service_is_named(self) -> None:
        info = ArchiveInfo("a.example", "2026-01-31T12:34:56Z", service="other/v2")
        assert json.loads(info.encode())["service"] == "other/v2"
        assert ArchiveInfo.decode(info.encode(), "a") == info
        with pytest.raises(ArchiveDamaged, match="service is 5, not text"):
            ArchiveInfo.decode(self.with_member("service", 5), "a")

    def with_member(self, name: str, value: Any) -> bytes:
        return json.dumps({**json.loads(INFO.encode()), name: value}).encode()

    def test_unknown_members_are_passed_over(self) -> None:
        assert ArchiveInfo.decode(self.with_member("mood", "calm"), "a") == INFO

    @pytest.mark.parametrize("data", [b"[]", b"{}", b'{"format":"tar"}', b"7"])
    def test_another_programs_document_is_no_archive(self, data: bytes) -> None:
        with pytest.raises(NoArchive, match=r"^a is not an archive of blog-exporter"):
            ArchiveInfo.decode(data, "a")

    @pytest.mark.parametrize("version", [2, 10**30])
    def test_a_newer_format_says_what_to_do(self, version: int) -> None:
        with pytest.raises(NewerFormat, match=r"reads up to 1: install a newer blog-exporter"):
            ArchiveInfo.decode(self.with_member("format_version", version), "a")

    @pytest.mark.parametrize("value", [0, -1, None, "x", [], float("inf"), float("nan")])
    def test_an_impossible_format_is_damage(self, value: Any) -> None:
        with pytest.raises(ArchiveDamaged, match=r"^a/archive.json is damaged: .*restore it"):
            ArchiveInfo.decode(self.with_member("format_version", value), "a")

    @pytest.mark.parametrize("data", [b"", b"\xff", b'{"format":', b'{"format":"blog-exporter-archive"}'])
    def test_a_document_that_cannot_be_read_is_damage(self, data: bytes) -> None:
        with pytest.raises(ArchiveDamaged):
            ArchiveInfo.decode(data, "a")


class TestManifest:
    def test_a_reason_keeps_its_template_and_values(self) -> None:
        reason = message("it answered {status}", status=503)
        manifest = replace(MANIFEST, problems=[RecordProblem("assets", "http://x/1.jpg", reason)])
        data = json.dumps(manifest.document()).encode()
        assert json.loads(data)["problems"] == [
            {
                "kind": "assets", "id": "http://x/1.jpg", "reason": "it answered 503",
                "message": {"template": "it answered {status}", "values": {"status": 503}},
            }
        ]  # fmt: skip
        assert Manifest.decode(data, "m") == manifest
        assert translated(Manifest.decode(data, "m").problems[0].reason, "ja") == "503 が返されました"
        assert Manifest.decode(data, "m").document() == manifest.document()

    def test_round_trip(self) -> None:
        assert Manifest.decode(json.dumps(MANIFEST.document()).encode(), "m") == MANIFEST

    def test_the_members_have_the_documented_order(self) -> None:
        assert list(MANIFEST.document()) == [
            "format_version", "version", "parent", "blog_id", "base_url", "started_at", "finished_at", "tool",
            "counts", "completeness", "problems", "files",
        ]  # fmt: skip

    def test_members_that_a_later_program_added_are_passed_over(self) -> None:
        document = json.loads(json.dumps(MANIFEST.document()))
        document["mood"] = "calm"
        document["counts"]["entries"]["hidden"] = 1
        document["files"]["user.jsonl"]["zstd"] = "x"
        document["problems"][0]["attempts"] = 5
        assert Manifest.decode(json.dumps(document).encode(), "m") == MANIFEST

    @pytest.mark.parametrize("name", list(MANIFEST.document()))
    def test_a_missing_member_is_damage(self, name: str) -> None:
        document = json.loads(json.dumps(MANIFEST.document()))
        del document[name]
        with pytest.raises(ArchiveDamaged, match=r"^m is damaged: .*; run verify --repair\.$"):
            Manifest.decode(json.dumps(document).encode(), "m")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("version", "x"), ("version", None), ("version", float("inf")), ("parent", 7), ("parent", "ab"),
            ("counts", []), ("counts", {"entries": {}}), ("counts", {"entries": None}), ("completeness", None),
            ("problems", 7), ("problems", [{}]), ("files", None), ("files", {"a": {"lines": 1}}),
        ],
    )  # fmt: skip
    def test_a_mistyped_member_is_damage(self, name: str, value: Any) -> None:
        document = {**json.loads(json.dumps(MANIFEST.document())), name: value}
        with pytest.raises(ArchiveDamaged):
            Manifest.decode(json.dumps(document).encode(), "m")

    @pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff"])
    def test_json_that_is_not_an_object_is_damage(self, data: bytes) -> None:
        with pytest.raises(ArchiveDamaged):
            Manifest.decode(data, "m")


RUN = {
    "outcome": "saved",
    "started_at": "2026-01-31T12:34:56Z",
    "finished_at": "2026-01-31T12:35:56Z",
    "version": 2,
    "counts": {"entries": {"total": 4, "new": 1, "changed": 2, "gone": 1}},
    "problems": [{"kind": "entries", "id": None, "reason": "?"}],
    "previous": "ab" * 32,
}
OTHERS = [None, "x", "", "ab" * 32, "2026-01-31T12:34:56Z", -1, 0, 1, 1.5, True, [], [1], {}, {"a": 1}, 2**63, 2**70]


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every member in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*way, key)
        yield from places(each, (*way, key))


@pytest.mark.parametrize("document", [json.loads(json.dumps(MANIFEST.document())), RUN], ids=["manifest", "run"])
def test_a_document_is_wrong_if_and_only_if_its_fault_can_be_named(document: dict[str, Any]) -> None:
    """The quick test of every document and the slow one, which names the wrong member, agree."""
    check = manifest._RUN if document is RUN else manifest._MANIFEST
    assert check.holds(document)
    wrong = 0
    for way in places(document):
        for other in [..., *OTHERS]:
            changed = copy.deepcopy(document)
            outer = changed
            for step in way[:-1]:
                outer = outer[step]
            if other is ...:
                del outer[way[-1]]
            else:
                outer[way[-1]] = other
            try:
                check._explain(changed, "it")
                named = False
            except ValueError:
                named = True
            assert check.holds(changed) != named, (way, other)
            wrong += named
    assert wrong > 200 if document is RUN else wrong > 500


def test_sums_are_in_the_form_of_sha256sum() -> None:
    written = version_sums("1" * 64, "2" * 64, {"entries.jsonl": SegmentInfo(0, 0, "3" * 64)})
    expected = f"{'1' * 64}  manifest.json\n{'3' * 64}  entries.jsonl\n{'2' * 64}  ../../archive.json\n"
    assert written == expected.encode()


def test_sums_of_a_hostile_manifest_are_written_all_the_same() -> None:
    assert version_sums("1", "2", {"\u3042\ud83d": SegmentInfo(0, 0, "\xe9")})
