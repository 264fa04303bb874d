"""Search every byte of hundreds of exports of a blog with secrets: no public export contains one.

A table repeats what may be public: the state of each entry and comment in the first and the second version. Each has
unique words in all its fields, its category, the addresses and bytes of its pictures, and its comments.
"""

from __future__ import annotations

import base64
import contextlib
import io
import re
import sqlite3
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from exporter.cli.destinations import DESTINATIONS
from exporter.export.formats import NAMED
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, Built, record
from tests.cli.conftest import Program
from tests.export.memory import PIXEL
from tests.site.building import stored
from tests.support.declared import declare
from tests.support.parquet import read_parquet
from tests.support.questions import questions
from tests.support.runs import Runs
from tests.support.terminal import Terminal

Seen = Literal["public", "period", "draft", "private"]
HIDDEN_FIRST: Final[tuple[Seen, ...]] = ("private", "draft", "period", "public")
PRIVATE: Final = {"is_private": "t"}
DRAFT: Final = {"open_flg": "2"}


@dataclass(frozen=True)
class Case:
    """An entry: its states in both versions, and the fields of its record and list item that cause them."""

    then: Seen
    now: Seen
    before: dict[str, Any]
    after: dict[str, Any] | None
    item_before: dict[str, Any] | None
    item_after: dict[str, Any] | None


def case(
    then: Seen,
    now: Seen | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    item: tuple[dict[str, Any] | None, dict[str, Any] | None] = ({}, {}),
) -> Case:
    before = before or {}
    return Case(then, now or then, before, before if now is None else after, *item)


CASES: Final[dict[str, Case]] = {
    "open": case("public"),
    "unlisted": case("public", item=(None, None)),
    "secret": case("private", before=PRIVATE),
    "unclear": case("private", before={"is_private": "?"}),
    "empty": case("private", before={"is_private": ""}),
    "null": case("private", before={"is_private": None}),
    "listedsecret": case("private", item=(PRIVATE, PRIVATE)),
    "listednull": case("private", item=({"is_private": None}, {"is_private": None})),
    "draft": case("draft", before=DRAFT),
    "listeddraft": case("draft", item=(DRAFT, DRAFT)),
    "period": case("period", before={"period_flg": "t"}),
    "future": case("draft", before={"year": "2031"}),
    "undated": case("draft", before={"mon": "13"}),
    "nowsecret": case("public", "private", after=PRIVATE),
    "nowlistedsecret": case("public", "private", after={}, item=({}, PRIVATE)),
    "nowdraft": case("public", "draft", after=DRAFT),
    "nowlisteddraft": case("public", "draft", after={}, item=({}, DRAFT)),
    "nowperiod": case("public", "period", after={"period_flg": "t"}),
    "nowfuture": case("public", "draft", after={"year": "2031"}),
    "nowopen": case("private", "public", PRIVATE, {}),
    "removed": case("public", "private", after=None, item=({}, None)),
    "unread": case("public", "private", after=None),
    "draftremoved": case("draft", "private", DRAFT, None, ({}, None)),
}
NUMBERS: Final = {name: number for number, name in enumerate(CASES, 1)}
COMMENTS: Final[dict[str, tuple[Any, Any]]] = {
    "shown": ("f", "f"), "hidden": ("t", "t"), "flagless": (None, None), "nowhidden": ("f", "t"),
    "nowshown": ("t", "f"), "deleted": ("f", "gone"),
}  # fmt: skip
"""The public entry's comments, and their flags in both versions."""


def word(name: str, field: str) -> str:
    """Return a unique word in letters that no format changes."""
    return f"zq{name}0{field}qz"


def entry(name: str, changes: dict[str, Any]) -> bytes:
    number = NUMBERS[name]
    links = "".join(f'<a href="https://{BLOG}/Entry/{other}/">x</a>' for other in NUMBERS.values())
    body = f'<p>{word(name, "body")}</p><img src="{address(name)}" alt="{word(name, "alt")}">{links}'
    values = {
        "blog_id": BLOG, "entry_id": str(number), "title": word(name, "title"), "name": word(name, "name"),
        "category_id": "7" if name in {"unlisted", "secret"} else f"1{number}", "open_flg": "1", "is_private": "f",
        "period_flg": "f", "entry_text": body, "ps_title": word(name, "lead"), "ps_text": word(name, "more"),
        "template_text": word(name, "template"), "year": "2020", "mon": "01", "day": "02", "hour": "03", "min": "04",
        "sec": f"{number:02}", "last_update": "2020-01-03 00:00:00", "cm_receipt_flg": "t", "tb_receipt_flg": "f",
    }  # fmt: skip
    return record(**{**values, **changes})


def item(name: str, changes: dict[str, Any]) -> bytes:
    values = {
        "entry_id": str(NUMBERS[name]), "title": word(name, "title"), "name": word(name, "name"), "open_flg": "1",
        "period_flg": "f", "category": word(name, "category"), "regist_date": "2020/01/02", "comment_count": "1",
    }  # fmt: skip
    return record(**{**values, **changes})


def address(name: str) -> str:
    return f"https://files.example.jp/{word(name, 'address')}.png"


def said(name: str, number: int, entry_id: int, flag: Any) -> bytes:
    texts = {part: word(name, f"said{part}") for part in ("name", "title", "cm_text")}
    url = f"https://{word(name, 'saidurl')}.example/"
    return record(cm_id=str(number), entry_id=str(entry_id), regist_date="2020/01/05", url_text=url, delete_flg=flag, **texts)  # fmt: skip


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of two versions."""
    root = tmp_path_factory.mktemp("secrets") / "archive"
    root.mkdir()
    built = Built(root)
    first: dict[Kind, dict[str, bytes | None]] = {kind: {} for kind in Kind}
    second: dict[Kind, dict[str, bytes | None]] = {kind: {} for kind in Kind}
    for name, each in CASES.items():
        number = NUMBERS[name]
        key = str(number)
        first[Kind.ENTRIES][key] = entry(name, each.before)
        second[Kind.ENTRIES][key] = None if each.after is None else entry(name, each.after)
        if each.item_before is not None:
            first[Kind.ENTRY_LIST][key] = item(name, each.item_before)
            second[Kind.ENTRY_LIST][key] = None if each.item_after is None else item(name, each.item_after)
        cm_id = str(100 + number)
        first[Kind.COMMENTS][cm_id] = said(name, 100 + number, number, "f")
        if each.after is None:
            second[Kind.COMMENTS][cm_id] = None
        texts = {part: word(name, f"file{part}") for part in ("name", "title", "explanation")}
        first[Kind.FILES][key] = record(file_id=key, extension="png", **texts)
        data = PIXEL + word(name, "bytes").encode()
        asset = stored(root, address(name), data, refs=[{"entry": key}, {"file": key}])
        first[Kind.ASSETS][asset.url] = record(**asset.data())
    for number, (name, (then, now)) in enumerate(COMMENTS.items(), 200):
        first[Kind.COMMENTS][str(number)] = said(name, number, NUMBERS["open"], then)
        second[Kind.COMMENTS][str(number)] = None if now == "gone" else said(name, number, NUMBERS["open"], now)
    built.commit(first)
    changed = {
        kind: {key: data for key, data in each.items() if data != first[kind].get(key)} for kind, each in second.items()
    }
    built.commit(changed)
    return root


SAID: Final = ("--public-open-flg", "1", "--visible-delete-flg", "f")
PATTERNS: Final = (
    "--old-url", "https://{blog_id}/Entry/{entry_id}/", "--new-url", "https://new.example/{name}/{slug}",
)  # fmt: skip
VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "plain": SAID,
    "at": (*SAID, "--at", "1"),
    "all": (*SAID, "--only", "all"),
    "private": (*SAID, "--only", "private"),
    "all-at": (*SAID, "--only", "all", "--at", "1", "--media-folder"),
    "drafts": ("--all-as-draft",),
    "drafts-said": (*SAID, "--all-as-draft"),
    "drafts-at": ("--all-as-draft", "--at", "1"),
    "drafts-all": (*SAID, "--all-as-draft", "--only", "all"),
    "drafts-all-at": ("--all-as-draft", "--only", "all", "--at", "1", "--hidden-comments"),
    "drafts-private": ("--all-as-draft", "--only", "private", "--dry-run"),
    "hidden-comments": (*SAID, "--hidden-comments", "--media-folder"),
    "hidden-comments-at": (*SAID, "--hidden-comments", "--at", "1"),
    "html": (*SAID, "--media-base-url", "https://new.example/m/", "--body", "html"),
    "periods": (*SAID, "--period-flg-public", "--at", "1"),
    "dry": (*SAID, "--dry-run", "--only", "all"),
    "kept": (),
    "kept-at": ("--at", "1", "--only", "all", "--max-entries", "2"),
    "span": (*SAID, "--since", "2020-01-01", "--until", "2020-12-31", "--at", "1", "--only", "all"),
}

DECIDING: Final[tuple[tuple[tuple[str, ...], ...], ...]] = (
    (SAID, (*SAID, "--period-flg-public")),
    ((), ("--at", "1")),
    ((), ("--only", "all"), ("--only", "private")),
    ((), ("--all-as-draft",)),
    ((), ("--hidden-comments",)),
)
"""The choices that decide which entries and comments are public; the slow tests try all combinations."""
CHOICES: Final[tuple[tuple[tuple[str, ...], ...], ...]] = (
    *DECIDING,
    ((), ("--media-folder",), ("--media-base-url", "https://new.example/m/")),
    ((), ("--body", "html")),
    ((), ("--wordpress-body", "blocks"), ("--wordpress-body", "plain")),
    ((), ("--max-entries", "2")),
    ((), ("--since", "2020-01-01", "--until", "2020-12-31")),
    ((), PATTERNS),
    ((), ("--preset", "astro"), ("--preset", "eleventy"), ("--preset", "obsidian")),
    ((), ("--comments", "body"), ("--comments", "sidecar"), ("--comments", "none")),
)
"""The choices above and those that decide the form; every pair of options is in one of the exports."""


def in_pairs(choices: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
    """Yield lists of options, one of each choice, until every two options of two choices were in one list."""
    places = range(len(choices))
    wanted = {
        ((one, first), (other, second))
        for one, other in combinations(places, 2)
        for first, second in product(choices[one], choices[other])
    }
    while wanted:
        row = dict([*min(wanted)])
        for place in places:
            if place not in row:
                row[place] = max(choices[place], key=lambda option: len(wanted & together({**row, place: option})))
        wanted -= together(row)
        yield tuple(part for place in places for part in row[place])


def together(row: Mapping[int, tuple[str, ...]]) -> set[Any]:
    return set(combinations(sorted(row.items()), 2))


VARIANTS.update({f"pair-{number}": row for number, row in enumerate(in_pairs(CHOICES), 1)})
VARIANTS.update({f"deciding-{number}": sum(row, ()) for number, row in enumerate(product(*DECIDING), 1)})


def state(each: Case, variant: str) -> Seen:
    """Return an entry's state for a variant, from the table: the more hidden of its two states."""
    at_first = "--at" in VARIANTS[variant]
    seen = min((each.then, each.now) if at_first else (each.now,), key=HIDDEN_FIRST.index)
    if seen == "period":
        return "public" if "--period-flg-public" in VARIANTS[variant] else "draft"
    return seen


def there(each: Case, variant: str) -> bool:
    return "--at" in VARIANTS[variant] or each.after is not None


def open_words(variant: str, form: str) -> set[str]:
    """Return the names of the entries and comments that OUT may contain."""
    drafts = "--all-as-draft" in VARIANTS[variant]
    wanted = {"public", "draft"} if drafts else {"public"}
    names = {name for name, each in CASES.items() if there(each, variant) and state(each, variant) in wanted}
    at_first = "--at" in VARIANTS[variant]
    unapproved = NAMED[form].holds_back and "--hidden-comments" in VARIANTS[variant]
    for name, (then, now) in COMMENTS.items():
        shown = now == "f" and (then == "f" or not at_first)
        if drafts and "--visible-delete-flg" not in VARIANTS[variant]:
            shown = False
        if shown or (unapproved and now != "gone"):
            names.add(name)
    return names


def names_in(data: bytes) -> set[str]:
    """Return the names whose words are in these bytes."""
    return {found.decode() for found in re.findall(rb"zq([a-z]+)0[a-z_]+?qz", data)}


def everything(folder: Path) -> bytes:
    """Return all bytes in a folder and the names of its files, with archives unpacked and data decoded."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = [str(path.relative_to(folder)).encode() for path in folder.rglob("*")]
    return b"\n".join([*names, *(unpacked(path.read_bytes()) for path in files)])


def unpacked(data: bytes) -> bytes:
    parts = [data, *map(base64.b64decode, re.findall(rb"base64,([A-Za-z0-9+/=]+)", data))]
    if data.startswith(b"SQLite format 3"):
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(data)
            text = "\n".join(connection.iterdump())
        parts += [text.encode(), text.replace(" ", "").encode()]
    if data.startswith(b"PAR1"):
        table = read_parquet(io.BytesIO(data)).read_all()
        parts.append(repr([table.column(name).to_pylist() for name in table.column_names]).encode())
    if data.startswith(b"%PDF"):
        said = subprocess.run(["pdftotext", "-raw", "-", "-"], input=data, check=True, capture_output=True).stdout
        parts += [b"".join(said.split())]
        for stream in re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
            with contextlib.suppress(zlib.error):
                parts.append(zlib.decompress(stream))
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            parts += [name.encode() + b"\n" + unpacked(packed.read(name)) for name in packed.namelist()]
    return b"\n".join(parts)


def checked(form: str, variant: str, tmp_path: Path, talk: str, *, taken: bool = True) -> None:
    """Check every byte of an export and its output."""
    out, apart = tmp_path / "out", tmp_path / "out.NOT-PUBLIC"
    mine = open_words(variant, form)
    drafts = "--all-as-draft" in VARIANTS[variant]
    found = names_in(everything(out)) if out.exists() else set()
    assert found <= mine, found - mine
    reports = [path.read_bytes() for path in tmp_path.glob("*.report.json")]
    spoken = names_in(b"\n".join([talk.encode(), *reports]))
    assert spoken <= (set() if drafts else mine), spoken
    others = [
        path for path in tmp_path.iterdir() if path not in {out, apart} and path.name not in {"config", "process"}
    ]
    assert {path.suffix for path in others} <= {".json"}
    if not taken or "--dry-run" in VARIANTS[variant]:
        assert not out.exists()
        return
    only = "private" if "private" in VARIANTS[variant] else "all" if "all" in VARIANTS[variant] else "public"
    outside = {"future", "undated"} | (set() if "--at" in VARIANTS[variant] else {"nowfuture"})
    outside = outside if "--since" in VARIANTS[variant] else set()
    here = {name for name in mine if name in CASES} - outside
    if only != "private" and not NAMED[form].whole:
        assert found & set(CASES) == here
        unseen = "none" in VARIANTS[variant] and NAMED[form].shows is not None
        assert "shown" in found or drafts or unseen or not NAMED[form].comments
    assert apart.exists() == (only != "public")
    if only != "public":
        rest = {name for name, each in CASES.items() if there(each, variant)} - here - outside
        beside = names_in(everything(apart)) & set(CASES)
        assert beside == (set(CASES) if NAMED[form].whole else rest)


EVERY_TIME: Final = frozenset({"plain", "at", "drafts", "all-at"})
EVERY_WAY: Final = frozenset({"wxr", "hugo", "csv", "html"})
"""The formats that are always tried with each of these variants, the others with the first alone."""


def marks(form: str, variant: str) -> list[pytest.MarkDecorator]:
    if variant.startswith("deciding-"):
        return [pytest.mark.slow]
    often = variant == "plain" or (variant in EVERY_TIME and form in EVERY_WAY)
    # The words of a book of pages are drawn; another program reads them.
    if often:
        return [pytest.mark.importers] if form == "pdf" else []
    turn = list(NAMED).index(form) + list(VARIANTS).index(variant)
    return [pytest.mark.slow if turn % 3 else pytest.mark.thorough]


GRID: Final = [pytest.param(form, variant, marks=marks(form, variant)) for form, variant in product(NAMED, VARIANTS)]


def wanted(form: str, variant: str) -> tuple[str, ...]:
    """Return the variant's options that the format has."""
    options = list(VARIANTS[variant])
    unknown = ["--comments"] * (NAMED[form].shows is None) + ["--preset"] * (form != "markdown")
    unknown += ["--body"] * (form == "markdown" and "obsidian" in options)
    for name in set(unknown) & set(options):
        at = options.index(name)
        del options[at : at + 2]
    return tuple(options)


def is_refused(form: str, variant: str) -> bool:
    """Return whether the format refuses the variant: formats without drafts, and those that export all or nothing."""
    asked = set(VARIANTS[variant])
    whole = NAMED[form].whole and ("all" not in asked or bool(asked & {"--at", "--since"}))
    return whole or ("--all-as-draft" in asked and not NAMED[form].drafts)


@pytest.mark.no_cover
@pytest.mark.parametrize(("form", "variant"), GRID)
@pytest.mark.sample(15)
def test_no_byte_of_an_export_reveals_a_secret(
    program: Program, secrets: Path, tmp_path: Path, form: str, variant: str
) -> None:
    if variant.startswith("kept"):
        keep(secrets)
    patterns = PATTERNS if form == "redirects" or variant in {"plain", "all-at", "drafts-all-at"} else ()
    options = wanted(form, variant)
    patterns = () if set(PATTERNS) <= set(VARIANTS[variant]) else patterns
    result = program("export", form, secrets, tmp_path / "out", *options, *patterns, "--json")
    refused = is_refused(form, variant)
    assert result.code == (2 if refused else 0), result.err
    shown = "" if NAMED[form].whole else "Using the answers kept for sea.example: public_open_flg"
    assert not variant.startswith("kept") or refused or shown in result.err
    checked(form, variant, tmp_path, result.out + result.err, taken=not refused)


def test_a_later_change_is_given_as_the_reason(program: Program, secrets: Path, tmp_path: Path) -> None:
    (side,) = program("export", "wxr", secrets, tmp_path / "out", *SAID, "--at", "1", "--json").json["exports"]
    reasons = {row["reason"]: row["ids"] for row in side["left_out"] if row["kind"] != "categories"}
    assert reasons["not public: in the newest version, is_private is 't'"] == [
        str(NUMBERS[name]) for name in ("nowsecret", "nowlistedsecret")
    ]
    assert reasons["not public: the newest version does not hold it any more"] == [
        str(NUMBERS[name]) for name in ("removed", "unread", "draftremoved")
    ]
    assert reasons["in the newest version, delete_flg 't' is not visible"] == ["203"]
    assert reasons["the newest version does not hold it any more"] == ["205"]


def test_later_hidden_entries_are_reported_with_the_option_to_export_them(
    program: Program, secrets: Path, tmp_path: Path
) -> None:
    said = program("export", "csv", secrets, tmp_path / "out", *SAID, "--at", "1").err
    since = [name for name, each in CASES.items() if each.now != each.then and name != "nowopen"]
    assert f"{len(since)} entries of version 1 left out: hidden or removed since. --only all" in said
    assert "hidden or removed since" not in program("export", "csv", secrets, tmp_path / "new", *SAID).err
    assert (
        "hidden or removed since"
        not in program("export", "csv", secrets, tmp_path / "re", *SAID, "--at", "1", "--only", "private").err
    )


SEEN: Final = {"open_flg": ["", "1", "2", "3", "01", "1.0"], "delete_flg": ["f", "t"]}


@pytest.fixture(autouse=True)
def _nothing_declared_in(secrets: Path) -> Iterator[None]:
    yield
    (secrets / "declared.jsonl").unlink(missing_ok=True)


def keep(archive: Path) -> None:
    """Store answers as an earlier export does."""
    declare(archive, {"public_open_flg": "1", "visible_delete_flg": "f"}, SEEN)


def test_there_are_hundreds_of_exports() -> None:
    assert sum(not is_refused(*map(str, each.values)) for each in GRID) >= 1_500


@pytest.mark.parametrize(
    "variant",
    ["plain", "kept-at", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("at", "periods", "kept"))],
)
def test_no_byte_of_a_public_site_reveals_a_secret(
    program: Program, secrets: Path, tmp_path: Path, variant: str
) -> None:
    options = VARIANTS[variant]
    if variant.startswith("kept"):
        keep(secrets)
        options = options[:2] if "--at" in options else ()
    result = program("site", secrets, tmp_path / "out", "--public-only", *options, "--json")
    assert result.code == 0, result.err
    found = names_in(everything(tmp_path / "out"))
    assert found == open_words(variant, "html")
    assert names_in((tmp_path / "out.report.json").read_bytes() + result.out.encode() + result.err.encode()) <= found


HOMELESS: Final = (("home", ""),)
CLOSED: Final = (("public", ""), ("public", ""))
OPENED: Final = (("public", "y"), ("public", "n"), ("public", "n"))
COMMENTS_TOLD: Final = (("shown", "y"), ("shown", "n"))
COMMENTS_HID: Final = (("shown", ""), ("shown", ""))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize(
    ("service", "replies", "variant"),
    [
        ("hatena", [*HOMELESS, *CLOSED, *COMMENTS_TOLD, ("number", "2"), ("rest_of_drafts", "n")], "drafts-said"),
        ("obsidian", [*OPENED, *COMMENTS_TOLD, ("number", "1"), ("rest", "y")], "all"),
        ("epub", [("number", "1"), ("title", ""), ("vertical", "n"), ("by_year", "n"), ("rest", "n")], "kept"),
        *(
            pytest.param(*row, marks=pytest.mark.thorough)
            for row in (
                (
                    "markdown",
                    [*HOMELESS, *CLOSED, *COMMENTS_HID, ("number", ""), ("rest_of_drafts", "y")],
                    "drafts-all",
                ),
                ("astro", [*HOMELESS, *OPENED, *COMMENTS_TOLD, ("number", "2"), ("rest", "n")], "plain"),
                ("ghost", [*HOMELESS, *OPENED, *COMMENTS_TOLD, ("number", ""), ("rest", "y")], "all"),
                (
                    "blogger",
                    [*HOMELESS, *OPENED, *COMMENTS_TOLD, ("number", "1"), ("base", ""), ("rest", "n")],
                    "plain",
                ),
                ("csv", [*CLOSED, *OPENED, ("rest", "n")], "plain"),
            )
        ),
    ],
)
def test_no_answer_to_the_questions_publishes_a_secret(
    runs: Runs, secrets: Path, tmp_path: Path, service: str, replies: list[tuple[str, str]], variant: str
) -> None:
    words = questions("en")
    if variant == "kept":
        keep(secrets)
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "LC_ALL": "C.UTF-8"}
    terminal = Terminal(runs, ["export", secrets], tmp_path, environment)
    number = next(place for place, each in enumerate(DESTINATIONS, 1) if each.name == service)
    terminal.answer(words["number"], str(number))
    for question, reply in replies:
        terminal.answer(words[question], reply)
    asked_until = len(terminal.shown)
    terminal.answer(words["out"], "out")
    terminal.answer(words["go"], "y")
    assert terminal.end() == 0, terminal.shown
    assert ("Using the answers kept for sea.example" in terminal.shown) == (variant == "kept")
    form = next(each.form for each in DESTINATIONS if each.name == service)
    checked(form, variant, tmp_path, terminal.shown[asked_until:])
