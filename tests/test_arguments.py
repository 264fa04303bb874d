"""The public API refuses values of wrong types and outside their ranges where a program passes them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.errors import NoSuchRecord, UsageError
from exporter.service.registry import SERVICE_SETTINGS
from exporter.settings import SETTINGS, Settings, resolve

CALL: Any = exporter
ROOT = Path(exporter.__file__).parent
OF_NO_SETTING: list[Any] = [object(), b"bytes", [object()], 1j]
OUT_OF_RANGE: dict[type, list[Any]] = {
    int: [-1, True, 10**5000, "4", 4.0, None],
    float: [float("nan"), float("inf"), -1, 0, True, "4"],
    timedelta: [timedelta(-1), timedelta(days=40_000), 5, "5s"],
    bool: ["no", 0, None],
    date: [datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01"],
    frozenset: ["a,b", frozenset({""}), frozenset({"a,b"}), frozenset({3})],
    tuple: ["a,b", (3,), ("",)],
    Path: ["", "a\0b", 3],
}


async def asleep(_: object) -> None:
    """Stand for a function whose result nobody awaits."""


class Hidden:
    def __repr__(self) -> str:
        raise RuntimeError


class NoZone(tzinfo):
    def utcoffset(self, _: datetime | None) -> None:
        return None

    tzname = dst = utcoffset


class Assets(StrEnum):
    NONE = "none"


KINDS: tuple[type, ...] = (bool, int, float, timedelta, date, frozenset, tuple, Path, str, tzinfo)


def kind_of(name: str) -> type:
    """Return the type of a setting's values, by a text that it reads."""
    known = SETTINGS[name]
    for text in (
        known.default or "yes",
        *known.choices,
        "7d",
        "1",
        "10MB",
        "2026-01-01",
        "t",
        "https://a.example",
        "/a",
    ):
        with suppress(ValueError):
            return next(kind for kind in KINDS if isinstance(known.read(text), kind))
    raise AssertionError(name)


def test_every_setting_refuses_what_no_text_could_give(subtests: pytest.Subtests) -> None:
    tried = 0
    for name in SETTINGS:
        for value in [*OF_NO_SETTING, *OUT_OF_RANGE.get(kind_of(name), [])]:
            if value is None and SETTINGS[name].default is None:
                continue
            with subtests.test(name=name, value=type(value)):
                given: dict[str, Any] = {"of_service": {name: value}} if name in SERVICE_SETTINGS else {name: value}
                with pytest.raises(UsageError, match=f"^{name} is "):
                    Settings(**given)
                with pytest.raises(UsageError, match=f"^{name} is "):
                    replace(Settings(), **given)
                tried += 1
    assert tried > 4 * len(SETTINGS)
    for each in fields(Settings):
        if each.name not in SETTINGS:
            with pytest.raises(UsageError, match=f"^{each.name} is "):
                CALL.Settings(**{each.name: 3})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"assets": "nonsense"}, "assets is 'nonsense': one of linked, embedded, files, none is expected"),
        ({"refresh": "most"}, "refresh is 'most': one of all, changed, auto is expected."),
        ({"timezone": "Mars/X"}, "timezone is 'Mars/X': the type datetime.tzinfo is expected, such as zoneinfo.ZoneInfo("),
        ({"timezone": NoZone()}, "a time zone such as Asia/Tokyo or an offset such as +09:00 is expected."),
        ({"concurrency": "4"}, "concurrency is '4': the type int is expected."),
        ({"read_timeout": 5}, "read_timeout is 5: the type datetime.timedelta is expected, such as datetime.timedelta("),
        ({"retries": -5}, "retries is -5: a whole number from 0 to 100 is expected."),
        ({"skip_asset_hosts": "a,b"}, "skip_asset_hosts is 'a,b': a set is expected, such as frozenset({'a', 'b'})."),
        ({"of_service": {"obey_robot": True}}, "of_service['obey_robot'] is not a setting (did you mean obey_robots?)."),
        ({"token": b"secret"}, "token is bytes: the type str | None is expected."),
        ({"encrypt_to": "AGE-SECRET-KEY-1"}, "encrypt_to is str: the type tuple[str, ...] is expected."),
        ({"home_url": Hidden()}, "home_url is Hidden: the type str is expected."),
    ],
)  # fmt: skip
def test_the_sentence_names_the_field_the_value_and_the_type(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings(**given)
    assert sentence in str(caught.value)
    assert "secret" not in str(caught.value).lower()


def test_right_values_are_kept_in_their_own_forms() -> None:
    made = CALL.Settings(
        assets=Assets.NONE,
        rate=5,
        timezone=ZoneInfo("Europe/Paris"),
        read_timeout=timedelta(seconds=0.25),
        token_file="token",
        skip_asset_hosts={"A.example."},
        of_service={"obey_robots": False},
    )
    assert (made.assets, made.rate, made.read_timeout) == ("none", 5, timedelta(seconds=0.25))
    assert (made.token_file, made.skip_asset_hosts) == (Path("token"), frozenset({"a.example"}))
    assert (made.get("obey_robots"), made.get("max_posts")) == (False, 200_000)
    assert replace(Settings(), timezone=UTC).timezone is UTC
    assert hash(made) != hash(Settings())
    assert resolve({}, environ={}).of_service == Settings().of_service


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CALL.Declared(public_access="1,3"),
         "public_access is '1,3': a set is expected, such as frozenset({'1', '3'})."),
        (lambda: CALL.Declared(public_access=frozenset({""})), "public_access is frozenset({''}): texts that are not"),
        (lambda: CALL.Declared(public_access=frozenset({"1,3"})), "texts that are not empty and have no comma"),
        (lambda: CALL.Declared(visible_comment_flags=frozenset({"x"})), "t, f, f,t or none is expected"),
        (lambda: CALL.Declared(period_public="no"), "period_public is 'no'"),
        (lambda: CALL.ExportOptions(body="pdf"), "body is 'pdf': one of markdown, html is expected."),
        (lambda: CALL.ExportOptions(max_entries=-1), "max_entries is -1: a whole number from 0 to "),
        (lambda: CALL.ExportOptions(since=date(2021, 1, 1), until=date(2020, 1, 1)), "No day is both in"),
        (lambda: CALL.ExportOptions(as_of=datetime(2026, 1, 1)),  # noqa: DTZ001 - it has no zone on purpose
         "a time with a time zone is expected"),
        *((lambda name=each.name: CALL.ExportOptions(**{name: object()}), f"{each.name} is <object")
          for each in fields(exporter.ExportOptions)),
    ],
)  # fmt: skip
def test_declarations_and_export_options_are_checked(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert sentence in str(caught.value)


def test_a_set_and_an_empty_declaration_are_right() -> None:
    assert CALL.Declared(public_access={"1"}).public_access == frozenset({"1"})
    assert exporter.Declared(public_access=frozenset()).public_access == frozenset()


def test_that_no_comment_is_shown_can_be_declared() -> None:
    assert Settings(of_service={"visible_delete_flg": frozenset()}).get("visible_delete_flg") == frozenset()


def test_functions_check_their_arguments(archive: Path, tmp_path: Path, subtests: pytest.Subtests) -> None:
    found, options = Archive.open(archive), exporter.ExportOptions()
    settings = Settings(base_url="http://127.0.0.1:9")
    calls: dict[str, Callable[[], object]] = {
        "only is 'publik': one of public, private, all": lambda: CALL.export_blog(
            archive, "wxr", tmp_path / "out", options, only="publik"
        ),
        "at is '1': the type int": lambda: CALL.export_blog(archive, "wxr", tmp_path / "out", options, at="1"),
        "at is True: the type int": lambda: list(found.records(exporter.Kind.ENTRIES, at=True)),
        "kind is 'entries'": lambda: list(CALL.Archive.open(archive).records("entries")),
        "keep_last is True": lambda: CALL.prune(found, settings, keep_last=True, dry_run=True),
        "--keep-last -5 is not a number": lambda: CALL.prune(found, settings, keep_last=-5, dry_run=True),
        "max_age is 5": lambda: CALL.status(found, max_age=5),
        "max_age is datetime.timedelta(days=-1)": lambda: CALL.status(found, max_age=timedelta(-1)),
        "settings is None": lambda: CALL.rebuild(found, None),
        "before is None: the type int": lambda: CALL.Archive.open(archive).diff(None, 2, None),
        "after is '': the type int": lambda: CALL.Archive.open(archive).diff(1, "", None),
        "timezone is 9: the type datetime.tzinfo": lambda: CALL.Archive.open(archive).version_at("1", 9),
        "at is '2': the type int": lambda: CALL.Archive.open(archive).completeness("2"),
        r"archive is '\ud800'": lambda: CALL.copy_site("\ud800", tmp_path / "out", settings),
        ": a function without async is expected": lambda: CALL.backup_blog(
            tmp_path / "a", "a.example", settings, on_event=asleep
        ),
        "archive is b'x'": lambda: CALL.export_blog(b"x", "wxr", tmp_path / "out", options),
        r"archive is 'a\x00b'": lambda: CALL.copy_site("a\0b", tmp_path / "out", settings),
        "record_id is 1: the type str": lambda: CALL.Archive.open(archive).record(exporter.Kind.ENTRIES, 1),
        "text is 1: the type str | None": lambda: CALL.Archive.open(archive).version_at(1),
        "home is '': the path of a file or folder": lambda: CALL.compare_blog(archive, "", settings, options),
        "path is ''": lambda: CALL.Archive.open(""),
        "blog_id is 'https://a.example/'": lambda: CALL.backup_blog(tmp_path / "a", "https://a.example/", settings),
        "blog_id is ''": lambda: CALL.backup_blog(tmp_path / "a", "", settings),
        "blog_id is '../a'": lambda: CALL.capture_blog(tmp_path / "a", "../a", settings),
        "files is 'x.xml'": lambda: CALL.backup_blog(tmp_path / "a", "a.example", settings, files="x.xml"),
        "limit is 0: a whole number from 1 to 10000": lambda: CALL.search_blog(found, "海", limit=0),
        "kind is 'picture': one of entry, comment, file": lambda: CALL.search_blog(found, "海", kind="picture"),
        "wait_lock is datetime.timedelta(days=-1)": lambda: CALL.sync(archive, tmp_path / "b", wait_lock=timedelta(-1)),
    }
    for sentence, made in calls.items():
        with subtests.test(sentence=sentence):
            with pytest.raises(UsageError) as caught:
                made()
            assert sentence in str(caught.value)
    assert not [*tmp_path.glob("out*"), *tmp_path.glob("a")]


def test_a_version_that_does_not_exist_is_no_damage(archive: Path) -> None:
    found = CALL.Archive.open(archive)
    for read in (found.completeness, lambda at: CALL.rebuild(found, Settings(), at=at)):
        for at in (0, -1, 99):
            with pytest.raises(NoSuchRecord, match=f"There is no version {at}: this archive has"):
                read(at)


def test_the_stub_names_what_the_package_gives() -> None:
    stubs: dict[str, str] = {}
    for each in ast.parse((ROOT / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(each, ast.ImportFrom):
            stubs |= {(alias.asname or alias.name): f"{each.module}.{alias.name}" for alias in each.names}
        elif isinstance(each, ast.Assign):
            stubs[ast.unparse(each.targets[0])] = stubs.pop(ast.unparse(each.value))
    homes = {name: (home, name) if isinstance(home, str) else home for name, home in vars(exporter)["_HOMES"].items()}
    assert stubs == {name: f"exporter.{module}.{known_as}" for name, (module, known_as) in homes.items()}
    assert dir(exporter) == sorted(["__version__", *stubs])
    assert all(getattr(exporter, name) is not None for name in stubs)
    rooms = {path.stem for path in ROOT.iterdir()}
    assert not rooms & {*stubs}, "an import of such a package would replace the name"
