"""An archive stores its settings, so that its folder is enough; settings from a stranger's archive are limited."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.settings_file import CONFIRMED, HARMLESS, read_archive_settings, remember
from exporter.errors import NoSpace
from exporter.settings import SETTINGS
from tests.cli.conftest import Program
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog
from tests.support.runs import serving

TOKEN = "sesame-4711"


@pytest.fixture
def service() -> Iterator[DemoService]:
    with serving(generated_blog(3, 1, 1), log_requests=True) as served:
        yield served


@pytest.fixture
def first(service: DemoService, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive whose first backup had options."""
    monkeypatch.setenv("BLOG_EXPORTER_TOKEN", TOKEN)
    root = tmp_path / "diary"
    done = program(
        "backup", blog_of(service), "--archive", root, "--base-url", service.base_url, "--assets", "none", "--no-site"
    )
    assert done.code == 0, done.err
    assert f"From now on this is enough: blog-exporter backup {root}\n" in done.err
    return root


def blog_of(service: DemoService) -> str:
    return str(next(iter(service.blogs)))


def memory(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "settings.toml").read_text("utf-8"))


def test_a_person_does_not_wait_as_long_as_the_schedule(first: Path, program: Program) -> None:
    before = memory(first)
    done = program("backup", first, "--wait-lock", "1h", "--retries", "3")
    assert (done.code, memory(first)) == (0, {**before, "retries": "3"})
    assert "--wait-lock" not in done.err
    with (first / "settings.toml").open("a") as file:
        file.write('wait_lock = "1h"\n')
    remember(first, {"retries": 4})
    assert "wait_lock" not in read_archive_settings(first).values
    assert {"retries": "4", "assets": "none"}.items() <= memory(first).items()
    assert "wait_lock" not in memory(first)


def test_the_folder_is_enough_afterwards(first: Path, program: Program, service: DemoService) -> None:
    assert memory(first) == {
        "assets": "none", "base_url": service.base_url, "site": "no", "token_for": service.base_url,
    }  # fmt: skip
    assert (first / "settings.toml").stat().st_mode & 0o777 == 0o600
    done = program("backup", first)
    assert done.code == 0, done.err
    assert "From now on" not in done.err
    assert not (first / "latest" / "site").exists()
    assert program("verify", first).code == 0
    assert TOKEN not in (first / "settings.toml").read_text("utf-8")


def test_later_options_are_stored_with_the_others(first: Path, program: Program) -> None:
    assert program("backup", first, "--assets", "embedded", "--retries", "2", "--no-remember").code == 0
    assert memory(first)["assets"] == "none"
    assert program("backup", first, "--assets", "embedded", "--retries", "2", "--dry-run").code == 0
    assert memory(first)["assets"] == "none"
    assert program("backup", first, "--assets", "embedded", "--retries", "2").code == 0
    assert memory(first) == {**memory(first), "assets": "embedded", "retries": "2", "site": "no"}


def test_a_failed_backup_stores_no_settings(first: Path, program: Program) -> None:
    before = memory(first)
    assert program("backup", first, "--base-url", "http://127.0.0.1:9", "--retries", "0").code == 20
    assert memory(first) == before


def test_an_interrupted_first_backup_stores_its_settings_and_a_wrong_address_does_not_replace_them(
    program: Program, service: DemoService, tmp_path: Path
) -> None:
    root = tmp_path / "diary"
    order = ("backup", blog_of(service), "--archive", root, "--assets", "none", "--retries", "0", "--base-url")
    service.before = faults.after(4, faults.status(401))
    assert program(*order, service.base_url).code == 12
    assert memory(root)["base_url"] == service.base_url
    assert program(*order, "http://127.0.0.1:1").code == 20
    assert memory(root)["base_url"] == service.base_url
    service.before = None
    assert program("backup", root).code == 0


def test_a_token_that_is_not_sent_is_named_by_the_setting_that_gave_it(
    program: Program, service: DemoService, tmp_path: Path
) -> None:
    root, file = tmp_path / "diary", tmp_path / "token"
    file.write_text("a-token-of-a-file")
    file.chmod(0o600)
    order = ("backup", blog_of(service), "--archive", root, "--assets", "none", "--base-url", service.base_url)
    assert program(*order).code == 0
    assert "the token (option --token-file) is not sent" in program("backup", root, "--token-file", file).err
    assert f"the token ({root / 'settings.toml'}: token_file) is not sent" in program("backup", root).err


def test_the_settings_are_stored_before_the_views_are_made(
    program: Program, service: DemoService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "diary"
    order = ("backup", blog_of(service), "--archive", root, "--assets", "none", "--base-url", service.base_url)

    def full(*_: object, **__: object) -> None:
        raise NoSpace("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr("exporter.library.views.write_latest", full)
        assert program(*order, "--title", "海の日記").code == 28
    assert memory(root)["site_title"] == "海の日記"
    status = program("status", root)
    assert (status.code, "(latest)" in status.err) == (3, True)
    assert program("backup", root, "-q").code == 0
    assert "海の日記" in (root / "latest" / "site" / "index.html").read_text("utf-8")


def test_the_name_of_the_blog_in_its_parents_folder_is_its_archive(
    first: Path, program: Program, service: DemoService, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = first.parent / blog_of(service)
    monkeypatch.chdir(first.parent)
    done = program("backup", blog_of(service), "--base-url", service.base_url, "--assets", "none", "--no-site")
    assert done.code == 0, done.err
    assert program("backup", named.name).code == 0
    shutil.rmtree(named)
    shutil.copytree(first, first.parent / "other.blog.example.jp")
    done = program("backup", "other.blog.example.jp", "--base-url", service.base_url)
    assert done.code == 2
    assert "is the archive of" in done.err


def test_with_a_blog_id_and_its_archive_only_typed_options_count(
    first: Path, program: Program, service: DemoService
) -> None:
    done = program("backup", blog_of(service), "--archive", first)
    assert done.code == 2
    assert "--base-url" in done.err
    command = ("backup", blog_of(service), "--archive", first, "--base-url", service.base_url, "--assets", "none")
    assert program(*command).code == 0
    assert (first / "latest" / "site" / "index.html").exists()


@pytest.mark.counts_requests
def test_a_strangers_archive_does_not_decide_where_a_token_is_sent(
    first: Path, program: Program, service: DemoService, tmp_path: Path
) -> None:
    stranger = tmp_path / "stranger"
    shutil.copytree(first, stranger)
    key = tmp_path / "key"
    key.write_text("private", encoding="utf-8")
    lines = f'base_url = "{service.base_url}"\nassets = "none"\nsite = "no"\ntoken_file = "{key}"\n'
    (stranger / "settings.toml").write_text(lines, encoding="utf-8")
    service.requests.clear()
    done = program("backup", stranger)
    assert done.code == 2
    assert service.requests == []
    assert "no backup of yours wrote that" in done.err
    assert f"type once: blog-exporter backup {stranger} --base-url {service.base_url}\n" in done.err
    assert done.err.count("\n") == 1
    assert program("backup", stranger, "--base-url", service.base_url).code == 0
    assert memory(stranger) == {
        "assets": "none", "base_url": service.base_url, "site": "no", "token_for": service.base_url,
    }  # fmt: skip
    assert program("backup", stranger).code == 0


def test_unused_settings_are_named_even_if_the_address_is_known(
    first: Path, program: Program, service: DemoService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (first / "settings.toml").read_text("utf-8")
    (first / "settings.toml").write_text(text + 'allow_private_network = "yes"\n', encoding="utf-8")
    monkeypatch.setenv("BLOG_EXPORTER_BASE_URL", service.base_url)
    done = program("backup", first, "-q")
    assert done.code == 0
    assert "allow_private_network = 'yes', but no backup of yours" in done.err
    assert f"backup {first} --allow-private-network\n" in done.err


def _link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


def _text(text: str) -> Callable[[Path], None]:
    return lambda path: (path.write_bytes(text.encode("utf-8", "surrogateescape")), None)[1]


ATTACKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "link": (_link, "it is a link"),
    "fifo": (os.mkfifo, "it is a FIFO"),
    "folder": (lambda path: path.mkdir(), "it is a folder"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "it is a link"),
    "huge": (_text("# " + "x" * 70_000), "the limit for such a file"),
    "deep": (_text("a = " + "[" * 30_000), "settings.toml cannot be used"),
    "binary": (_text("\udcff\udcfe"), "settings.toml cannot be used"),
    "no TOML": (_text("assets"), "settings.toml cannot be used"),
    "unknown": (_text('asets = "none"'), "asets is not a setting that an archive stores"),
    "command": (_text('token_command = "rm -rf /"'), "token_command is not a setting that an archive stores"),
    "token": (_text('token = "x"'), "token is not a setting that an archive stores"),
    "list": (_text("retries = [1]"), "retries is [1]: text, a number, true or false is expected"),
    "wrong": (_text('assets = "al\u001b[31m"'), "settings.toml cannot be used"),
    "value": (_text('assets = "all"'), "assets is 'all': one of linked, embedded, files, none is expected"),
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.sample(3)
def test_a_forged_settings_file_ends_a_backup_in_one_line_and_leaves_reading_possible(
    first: Path, program: Program, name: str
) -> None:
    put, said = ATTACKS[name]
    (first / "settings.toml").unlink()
    put(first / "settings.toml")
    done = program("backup", first)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err
    for command in ("status", "rebuild", "log"):
        done = program(command, first)
        assert done.code == 0, done.err
        assert said in done.err
    assert program("verify", first).code == (13 if name in {"link", "fifo", "device"} else 0)
    assert program("prune", first, "--keep-last", "1").code == 0
    assert os.path.lexists(first / "settings.toml")


def test_an_explicit_backup_does_not_write_through_a_link(first: Path, program: Program, service: DemoService) -> None:
    outside = first.parent / "elsewhere"
    outside.write_text("mine", encoding="utf-8")
    (first / "settings.toml").unlink()
    (first / "settings.toml").symlink_to(outside)
    done = program("backup", blog_of(service), "--archive", first, "--base-url", service.base_url, "--assets", "none")
    assert done.code == 0
    assert "The settings could not be remembered." in done.err
    assert outside.read_text("utf-8") == "mine"


def test_views_are_made_as_the_archive_remembers(first: Path, program: Program) -> None:
    assert program("rebuild", first).code == 0
    assert not (first / "latest" / "site").exists()


def test_settings_that_may_contain_a_secret_are_not_stored(first: Path, program: Program) -> None:
    fallback = "https://web.example/{url}?key=hush"
    done = program("backup", first, "--archive-fallback", fallback, "--retries", "1")
    assert done.code == 0
    assert "An archive does not remember --archive-fallback: add this to your settings file." in done.err
    assert "hush" not in done.err
    assert "archive_fallback" not in memory(first)
    assert memory(first)["retries"] == "1"


def test_the_token_file_is_remembered_by_its_whole_path(
    first: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(first.parent)
    monkeypatch.delenv("BLOG_EXPORTER_TOKEN")
    Path("token").write_text(TOKEN, encoding="utf-8")
    Path("token").chmod(0o600)
    assert program("backup", first, "--token-file", "token").code == 0
    assert memory(first)["token_file"] == str(first.parent / "token")
    monkeypatch.chdir("/")
    assert program("backup", first).code == 0


def test_archives_that_are_saved_at_the_same_time_are_all_remembered(tmp_path: Path) -> None:
    roots = [tmp_path / f"diary {number}" for number in range(8)]
    for root in roots:
        root.mkdir()
    with ThreadPoolExecutor(len(roots)) as pool:
        list(pool.map(lambda root: remember(root, {"base_url": "http://127.0.0.1:9"}), roots))
    assert [read_archive_settings(root).unconfirmed for root in roots] == [{}] * len(roots)


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000])
def test_confirmations_that_cannot_be_read_are_named(first: Path, program: Program, tmp_path: Path, text: str) -> None:
    confirmed = tmp_path / "config" / "blog-exporter" / "archives.json"
    assert list(json.loads(confirmed.read_text())) == [str(first)]
    assert confirmed.stat().st_mode & 0o777 == 0o600
    confirmed.write_text(text, encoding="utf-8")
    done = program("backup", first)
    assert done.code == 2
    assert "archives.json" in done.err
    assert "repair or remove it" in done.err


def test_a_folder_without_an_archive_is_not_taken_for_a_blog(program: Program, tmp_path: Path) -> None:
    done = program("backup", tmp_path)
    assert done.code == 2
    assert "is a folder without an archive: name the blog itself" in done.err
    assert "'' is not a blog ID" in program("backup", "").err


def test_stored_settings_never_start_a_program() -> None:
    assert set(SETTINGS) >= HARMLESS | CONFIRMED
    assert not HARMLESS & CONFIRMED
    never = {
        "token_command",
        "on_failure",
        "ping_url",
        "new_home_token_file",
        "oauth_client_secret_file",
        "auth_header",
    }
    assert set(SETTINGS) >= never
    assert not never & (HARMLESS | CONFIRMED)


def test_an_archive_that_cannot_be_read_is_named_or_left_to_its_blogs_id(
    first: Path, program: Program, service: DemoService, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = first.parent / blog_of(service)
    shutil.copytree(first, damaged)
    (damaged / "archive.json").write_text("{", encoding="utf-8")
    shutil.rmtree(damaged / ".work")
    monkeypatch.chdir(first.parent)
    assert program("backup", f"./{damaged.name}").code == 13
    assert program("backup", damaged.name, "--base-url", service.base_url).code == 13
    assert program("backup", "no/such/folder").code == 10
