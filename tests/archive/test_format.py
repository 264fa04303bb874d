"""FORMAT.md is enough to write a reader, and the commands in README.txt work."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.archive.layout import SEGMENTS
from exporter.archive.manifest import ArchiveInfo, Manifest
from exporter.crawl.assets.summary import AssetSummary
from exporter.crawl.outcome import assess
from exporter.crawl.sweep import SweepResult
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from tests.archive import plain_reader
from tests.archive.builder import ODD_RECORDS, Built, entry, record
from tests.crawl.reading import reading

DOCUMENTS = Path(__file__).parent.parent.parent / "exporter/archive"
FORMAT = (DOCUMENTS / "FORMAT.md").read_text("utf-8")
README = (DOCUMENTS / "README.txt").read_text("utf-8")


class TestPlainReader:
    def test_it_is_short_and_knows_only_the_standard_library(self) -> None:
        source = Path(plain_reader.__file__).read_text("utf-8")
        assert len(source.splitlines()) <= 60
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
                assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names

    def test_it_gives_the_same_state_for_every_version(self, five: Built) -> None:
        read = dict(plain_reader.states(five.root))
        assert list(read) == five.reader.versions() == [1, 2, 3, 4, 5]
        for number, state in read.items():
            expected = five.reader.fold(number)
            assert list(state) == [str(kind) for kind in Kind]
            for kind in Kind:
                assert state[kind] == {line.record_id: line.data for line in expected.lines(kind)}
                assert state[kind] == {key: data for key, (data, _) in five.states[number - 1][kind].items()}
            expected.close()

    def test_it_reads_the_odd_records(self, five: Built) -> None:
        entries = dict(plain_reader.states(five.root))[2]["entries"]
        assert set(ODD_RECORDS) <= set(entries)
        assert entries["7"] == ODD_RECORDS["7"]

    @pytest.mark.parametrize(
        ("name", "old", "new", "complaint"),
        [
            ("000001/user.jsonl", "浜", "海", "000001: SHA256SUMS of user.jsonl"),
            ("000002/manifest.json", "answered 404", "answered 405", "000002: SHA256SUMS of manifest.json"),
            ("../archive.json", "sea.example", "tea.example", r"000001: SHA256SUMS of ../../archive.json"),
        ],
    )
    def test_damage_is_found_by_the_sums(self, archive: Built, name: str, old: str, new: str, complaint: str) -> None:
        path = archive.root / "versions" / name
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        with pytest.raises(ValueError, match=complaint):
            list(plain_reader.states(archive.root))

    def reseal(self, folder: Path) -> None:
        """Recompute the checksums of a version from its files."""
        rows = (folder / "SHA256SUMS").read_text().splitlines()
        sums = [f"{hashlib.sha256((folder / row[66:]).read_bytes()).hexdigest()}  {row[66:]}" for row in rows]
        (folder / "SHA256SUMS").write_text("\n".join(sums) + "\n")

    @pytest.mark.parametrize(
        ("name", "old", "new", "complaint"),
        [
            ("000001/user.jsonl", "浜", "海", "000001: user: sha256 of 0f"),
            ("000002/entries.jsonl", "1.10", "1.100", "000002: entries: raw_sha256 of 7"),
            ("000002/manifest.json", "answered 404", "answered 405", "000003: parent"),
        ],
    )
    def test_damage_with_valid_checksums_is_found(
        self, archive: Built, name: str, old: str, new: str, complaint: str
    ) -> None:
        path = archive.root / "versions" / name
        path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
        self.reseal(path.parent)
        with pytest.raises(ValueError, match=complaint):
            list(plain_reader.states(archive.root))

    def test_the_newest_state_equals_latest(self, five: Built) -> None:
        newest = dict(plain_reader.states(five.root))[5]
        for kind in Kind:
            shown = {}
            for line in five.layout.latest_segment(kind).read_bytes().split(b"\n")[:-1]:
                head, _, rest = line.partition(b',"data":')
                shown[json.loads(head + b"}")["id"]] = rest.removesuffix(b"}")
            assert shown == newest[kind]


class TestFormatDocument:
    def test_its_line_of_python_makes_the_canonical_bytes(self) -> None:
        line = next(row.strip() for row in FORMAT.splitlines() if row.strip().startswith("json.dumps("))
        for text in ODD_RECORDS.values():
            found = eval(line, {"json": json, "text": text})
            assert hashlib.sha256(found).digest() == lossless_json.freeze(lossless_json.loads(text)).digest

    def rows(self, heading: str) -> list[list[str]]:
        """Return the rows of the tables below a heading."""
        part = re.split(r"^#+ ", FORMAT.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
        return [
            [cell.strip() for cell in row.strip("|").split("|")] for row in part.splitlines() if row.startswith("| `")
        ]

    def names(self, heading: str) -> list[str]:
        return [name for cells in self.rows(heading) for name in re.findall(r"`(\w+)`", cells[0])]

    def test_the_members_of_archive_json(self) -> None:
        assert self.names("archive.json") == list(json.loads(ArchiveInfo("a", "b", service="c").encode()))

    def test_the_members_of_a_manifest(self, five: Built) -> None:
        document = json.loads(five.layout.manifest(2).read_bytes())
        members = self.names("manifest.json")
        members = members[: members.index("complete")]
        assert [
            name for name in members if name not in {"pruned", "healed", "sources", "unjoined", "from_capture"}
        ] == [*document]
        assert Manifest.decode(json.dumps(document).encode(), "m") == five.reader.manifest(2)

    def test_the_members_of_completeness(self) -> None:
        """The table lists each member once, and for each part the members that it adds to the common numbers."""
        sweeps = {kind: SweepResult(kind) for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)}
        document, _ = assess(reading(sweeps), AssetSummary())
        names = self.names("manifest.json")
        assert set(names[names.index("complete") :]) == set(document)
        rows = {cells[0]: set(re.findall(r"`(\w+)`", cells[1])) for cells in self.rows("manifest.json")}
        common = rows["`entries`, `comments`, `files`, `assets`"]
        for part in ("entries", "comments", "files", "assets"):
            told = common | rows.get(f"`{part}` also", set())
            found = {*document[part], *document[part]["left_out"]}
            assert told - {"refused", "doubtful"} == found, "these two only appear if there are some"
        assert rows["`user`"] == set(document["user"])

    def test_the_segments_and_their_keys(self) -> None:
        rows = [cells for cells in self.rows("Segments") if cells[0].strip("`") in list(Kind)]
        fields = {cells[0].strip("`"): cells[-1].strip("`") for cells in rows}
        assert fields.pop("assets") == "url"
        assert set(fields) == set(Kind) - {Kind.ASSETS}
        assert all(DEFAULT_SERVICE.key(Kind(kind), {name: "7"}) == "7" for kind, name in fields.items())
        assert all(f"`{name}`" in FORMAT for name in SEGMENTS)

    def test_the_members_of_a_line(self) -> None:
        assert self.names("Segments")[:6] == ["op", "id", "sha256", "raw_sha256", "data", "evidence"]


def recipes() -> dict[str, str]:
    """Return the jq commands in README.txt by their purpose."""
    part = README.partition("with jq")[2].split("\n\n")[2]
    found: dict[str, str] = {}
    for row in part.splitlines():
        if row.startswith("      "):
            found[list(found)[-1]] += f" {row.strip()}"
        else:
            label, _, command = row.strip().partition(":")
            found[label] = command.strip()
    return found


def shell(command: str, folder: Path) -> str:
    """Run a command in the archive's folder like a reader, after the line that has to be pasted first."""
    first = next(row for row in README.splitlines() if row.startswith("  rows() "))
    words = ["bash", "-o", "pipefail", "-c", f"{first}\n{command}"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def documents(text: str) -> list[object]:
    """Return the JSON documents in an output."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        found.append(value)
    return found


class TestRecipes:
    @pytest.fixture
    def blog(self, tmp_path: Path) -> Built:
        built = Built(tmp_path / "archive")
        comments = {key: record(cm_id=key, entry_id=to) for key, to in (("1", "42"), ("2", "7"), ("3", "42"))}
        built.commit({Kind.ENTRIES: {"42": entry(42, "海"), "7": entry(7, "山")}, Kind.COMMENTS: comments})
        built.commit({Kind.ENTRIES: {"42": entry(42, "海二"), "8": entry(8, "川")}})
        built.commit({Kind.ENTRIES: {"7": None}})
        built.commit({Kind.ENTRIES: {"42": None, "9": entry(9, "星\t空")}})
        built.commit({Kind.ENTRIES: {"42": entry(42, "海三")}})
        built.refresh()
        return built

    def test_all_of_them_are_known_here(self) -> None:
        assert list(recipes()) == [
            "all titles", "one entry, newest", "its comments", "its history",
            "all entries at version 3",
        ]  # fmt: skip

    @pytest.mark.importers
    def test_all_titles(self, blog: Built) -> None:
        assert shell(recipes()["all titles"], blog.root) == "8\t川\n9\t星\\t空\n42\t海三\n"

    @pytest.mark.importers
    def test_one_entry(self, blog: Built) -> None:
        assert documents(shell(recipes()["one entry, newest"], blog.root)) == [json.loads(entry(42, "海三"))]

    @pytest.mark.importers
    def test_its_comments(self, blog: Built) -> None:
        found = documents(shell(recipes()["its comments"], blog.root))
        assert found == [{"cm_id": "1", "entry_id": "42"}, {"cm_id": "3", "entry_id": "42"}]

    @pytest.mark.importers
    def test_its_history(self, blog: Built) -> None:
        found = [json.loads(line) for line in shell(recipes()["its history"], blog.root).splitlines()]
        assert [(line["op"], line.get("data", {}).get("title")) for line in found] == [
            ("put", "海"), ("put", "海二"), ("remove", None), ("put", "海三"),
        ]  # fmt: skip

    @pytest.mark.importers
    def test_all_entries_at_a_version(self, blog: Built) -> None:
        found = documents(shell(recipes()["all entries at version 3"], blog.root))
        expected = [json.loads(data) for data, _ in blog.states[2][Kind.ENTRIES].values()]
        assert sorted(found, key=str) == sorted(expected, key=str)

    @pytest.mark.importers
    def test_half_an_emoji_does_not_stop_them(self, blog: Built) -> None:
        odd = {key: text for key, text in ODD_RECORDS.items() if key != "abc"}
        blog.commit({Kind.ENTRIES: {**odd, "7": odd["7"]}})
        blog.refresh()
        lines = shell(recipes()["all titles"], blog.root)
        assert lines.count("\n") == len(blog.states[-1][Kind.ENTRIES])
        assert lines.startswith("007\t\ufffd\n7\t\n8\t川\n")

    @pytest.mark.importers
    @pytest.mark.parametrize(
        ("sent", "shown"),
        [
            (r"a\ud83dz", "a\ufffdz"),
            (r"a\uDE00z", "a\ufffdz"),
            (r"a\ud83d\ud83d", "a\ufffd\ufffd"),
            (r"a\ud83d\ud83d\ude00", "a\ufffd\U0001f600"),
            (r"\ud83d\ude00 is an escape: 1.10", "\U0001f600 is an escape: 1.10"),
            (r"C:\\ud83d is a path", r"C:\\ud83d is a path"),
            (r"C:\\\ud83d is both", "C:\\\\\ufffd is both"),
        ],
    )
    def test_only_halves_are_replaced(self, tmp_path: Path, sent: str, shown: str) -> None:
        """If a record is stored in its original form, a whole emoji may be two escapes."""
        built = Built(tmp_path / "archive")
        built.commit({Kind.ENTRIES: {"1": f'{{"entry_id":"1","n":1.10,"title":"{sent}"}}'.encode()}})
        built.refresh()
        assert shell(recipes()["all titles"], built.root) == f"1\t{shown}\n"
        for name in ("one entry, newest", "its history", "all entries at version 3"):
            assert "title" in shell(recipes()[name].replace('"42"', '"1"'), built.root)

    @pytest.mark.importers
    def test_the_sums(self, blog: Built) -> None:
        command = next(row.strip() for row in README.splitlines() if "sha256sum" in row)
        for number in blog.reader.versions():
            assert shell(command, blog.layout.version(number)).count(": OK") == 8

    def test_the_files_it_names_exist(self, blog: Built) -> None:
        listed = re.findall(r"^  (\S+)  +\S", README.partition("\n\n")[2].partition("\n\n")[0], re.MULTILINE)
        assert len(listed) == 12
        views = {"latest/site/index.html", "latest/markdown/index.md", "index.html", "最初にお読みください.txt"}
        optional = {*views, "captures/"}
        assert optional < set(listed)
        for name in listed:
            if name not in optional:
                assert list(blog.root.glob(name.rstrip("/"))), name

    @pytest.mark.importers
    def test_jq_is_installed(self) -> None:
        assert shutil.which("jq"), "install jq: README.txt shows its use, so the tests run it"
