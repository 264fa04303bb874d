"""Every command prints only Japanese, on success and with a wrong service, archive or option."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.cli.main import cli
from exporter.demo.content import fields
from exporter.translation import set_language
from tests.cli.conftest import Program
from tests.move.home import running_home
from tests.support import faults
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.japanese import Reader, english_lines, reading
from tests.support.oauth_server import CLIENT_ID, guarded
from tests.support.runs import Runs, Zygote
from tests.wordpress.fake import LOGIN, in_thread

BLOG = "one.blog.example.jp"
IMPATIENT = ("--retries", "0", "--give-up-after", "60s")
PUBLIC = ("--public-open-flg", "1", "--visible-delete-flg", "f")


@pytest.fixture
def reader(runs: Runs) -> Iterator[Reader]:
    with reading(runs) as started:
        yield started


@pytest.fixture
def service() -> Iterator[DemoService]:
    """Serve a new blog that the test may change."""
    with DemoService(generated_blog(8, 8, 3, blog_id=BLOG)).run_in_thread() as served:
        yield served


@pytest.fixture(scope="module")
def small(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Back up a small blog with uploads; the archive has no site."""
    folder = tmp_path_factory.mktemp("japanese")
    with (
        DemoService(generated_blog(8, 8, 3, blog_id=BLOG)).run_in_thread() as served,
        Runs(folder / "process", zygote) as runs,
    ):
        assert runs.run(*backup(served, folder / "archive")).code == 0
    return folder / "archive"


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    """Copy the small archive for a test that damages it."""
    return Path(shutil.copytree(small, tmp_path / "small"))


def options(service: DemoService) -> tuple[str, ...]:
    rule = service.base_url + "/v1/blog/user/{user_id}/{mtime}"
    return ("--base-url", service.base_url, "--file-url", rule, "--allow-private-network")


def backup(service: DemoService, root: Path, *more: str) -> tuple[object, ...]:
    return ("backup", BLOG, "--archive", root, *options(service), *IMPATIENT, "--assets", "files", "--no-site", *more)


class TestBackup:
    def test_from_the_first_to_the_last(self, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        root = tmp_path / "archive"
        reader.run("check", BLOG, *options(service), code=0)
        reader.run("check", BLOG, *options(service), "-v", code=0)
        reader.run(*backup(service, root, "--dry-run"), code=0)
        reader.run(*backup(service, root, "-v"), code=0)
        reader.run(*backup(service, root), code=0)
        reader.run("check", root, code=0)
        blog = service.blogs[BLOG]
        del blog.entries[3]
        blog.entries[4] = {**fields(blog.entries[4]), "title": "新しい題"}
        reader.run(*backup(service, root, "-vv"))
        reader.run("backup", root, "-q")
        for command in ("status", "log", "diff", "files", "verify", "inspect"):
            reader.run(command, root)
        reader.run("show", root, "entry", "99", code=5)
        reader.run("log", root, "--entry", "4")

    @pytest.mark.parametrize(
        "fault",
        ["401", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("500", "truncated", "404", "html"))],
    )
    def test_the_service_fails(self, reader: Reader, service: DemoService, tmp_path: Path, fault: str) -> None:
        root = tmp_path / "archive"
        more = {**faults.KINDS, "html": faults.html}
        service.before = more[fault] if fault in more else faults.status(int(fault))
        reader.run("check", BLOG, *options(service))
        reader.run(*backup(service, root))
        service.before = faults.first_of(
            faults.only("entry_id=3", service.before), faults.only("comment/", service.before)
        )
        reader.run("check", BLOG, *options(service))
        reader.run(*backup(service, root))
        if root.exists():
            reader.run("status", root)
            reader.run("verify", root)

    def test_pictures_are_pending_and_lost(self, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        root = tmp_path / "archive"
        service.before = faults.only("/v1/blog/user/", faults.status(503))
        reader.run("check", BLOG, *options(service))
        reader.run(*backup(service, root, "-v"), code=3)
        for command in ("status", "verify", "files", "log"):
            reader.run(command, root)
        reader.run("files", root, "--missing")
        service.before = faults.only("/v1/blog/user/", faults.html)
        reader.run("backup", root, code=3)
        service.before = faults.only("/v1/blog/user/", faults.status(404))
        reader.run("backup", root)
        reader.run("backup", root, "--strict-assets", code=3)
        for command in ("status", "verify", "files"):
            reader.run(command, root)
        for form in ("wxr", "hugo", "csv"):
            reader.run("export", form, root, tmp_path / form, *PUBLIC)

    def test_most_of_the_blog_disappears(self, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        root = tmp_path / "archive"
        reader.run(*backup(service, root), code=0)
        blog = service.blogs[BLOG]
        for key in range(1, 8):
            del blog.entries[key]
        reader.run("backup", root, code=4)
        reader.run("status", root, code=7)
        reader.run("log", root)
        reader.run("backup", root, "--accept-removals")
        reader.run("diff", root)

    def test_a_token_is_required(self, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        service.options = ServiceOptions(require_token="right")
        root = tmp_path / "archive"
        for environ in ({}, {"BLOG_EXPORTER_TOKEN": "wrong"}, {"BLOG_EXPORTER_TOKEN": "right"}):
            reader.environ = environ
            reader.run("whoami", "--base-url", service.base_url)
            reader.run("check", BLOG, *options(service))
            reader.run(*backup(service, root))
            reader.run("logout", "--base-url", service.base_url)
        reader.run("login", "--base-url", service.base_url)
        reader.run("init", BLOG)

    @pytest.mark.counts_requests
    def test_another_run_has_the_lock(self, runs: Runs, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        root = tmp_path / "archive"
        service.before = faults.only("entry_id=7", faults.hang)
        run = runs.start("--lang", "ja", *backup(service, root))
        while not any(each.params.get("entry_id") == "7" for each in service.requests):
            time.sleep(0.01)
        for command in (
            backup(service, root),
            ("status", root),
            ("rebuild", root),
            ("prune", root, "--keep-last", "1"),
        ):
            reader.run(*command)
        run.signal(signal.SIGINT)
        interrupted = run.wait()
        assert interrupted.code == 130, interrupted
        reader.read(interrupted, "backup interrupted")
        service.before = None
        reader.run("status", root)
        reader.run("log", root)
        reader.run(*backup(service, root), code=0)

    def test_a_damaged_archive_is_healed(self, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        root = tmp_path / "archive"
        reader.run(*backup(service, root), code=0)
        damage(root)
        reader.run("backup", root)
        reader.run("verify", root)


def damage(root: Path) -> None:
    """Change a byte of an entry and of a picture."""
    for path in (root / "versions/000001/entries.jsonl", next(path for path in root.glob("assets/*/*"))):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.chmod(0o600)
        path.write_bytes(content)


def cut(root: Path) -> None:
    (root / "versions/000001/comments.jsonl").unlink()
    shutil.rmtree(root / "latest")


def newer(root: Path) -> None:
    path = root / "archive.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "format_version": 99}))


def scribbled(root: Path) -> None:
    (root / "archive.json").write_text("{")


def no_manifest(root: Path) -> None:
    (root / "versions/000001/manifest.json").write_text("{}")


def runs_damaged(root: Path) -> None:
    with (root / "runs.jsonl").open("a") as file:
        file.write('{"x\n\n{}\n')


def gone(root: Path) -> None:
    shutil.rmtree(root)


def no_version(root: Path) -> None:
    shutil.rmtree(root / "versions/000001")


OFTEN_READ = (
    "status DIR", "log DIR --entry 4", "log DIR --at 9", "diff DIR 1 1 --stat", "show DIR entry 99", "search DIR 港", "files DIR --missing",
    "verify DIR", "inspect DIR", "export wxr DIR OUT/a PUBLIC", "export csv DIR OUT/c --dry-run PUBLIC", "export wxr DIR OUT/i",
    "compare DIR nowhere PUBLIC", "rebuild DIR", "prune DIR --keep-last 1 --dry-run", "sync DIR COPY --dry-run", "schedule print DIR --for cron",
)  # fmt: skip
"""The commands that are always tried."""
READING = (
    "status DIR", "status DIR --max-age 1s", "log DIR", "log DIR --entry 4", "log DIR --at 9", "diff DIR", "diff DIR 1 1 --stat", "diff DIR 1 7",
    "show DIR entry 99", "show DIR comment 99", "show DIR entry",
    "search DIR 港", "search DIR xyzzy", "search DIR 港 --at 9", "files DIR", "files DIR --missing", "verify DIR", "verify DIR --quick",
    "verify DIR --expect 1234", "inspect DIR", "export wxr DIR OUT/a PUBLIC", "export hugo DIR OUT/b PUBLIC", "export csv DIR OUT/c --dry-run PUBLIC",
    "export jsonl DIR OUT/d --only all", "export sqlite DIR OUT/e --only all", "export epub DIR OUT/f PUBLIC", "export html DIR OUT/g PUBLIC",
    "export bagit DIR OUT/h --only all", "export wxr DIR OUT/i", "export wxr DIR OUT/j --dry-run", "export hatena DIR OUT/k PUBLIC",
    "export ghost DIR OUT/l PUBLIC", "export movabletype DIR OUT/m PUBLIC", "export jekyll DIR OUT/n PUBLIC", "export pelican DIR OUT/o PUBLIC",
    "export markdown DIR OUT/p PUBLIC --preset obsidian", "export redirects DIR OUT/q PUBLIC", "export parquet DIR OUT/r --only all",
    "export atom DIR OUT/s PUBLIC", "export jsonfeed DIR OUT/t PUBLIC", "export blogger-atom DIR OUT/u PUBLIC", "export note DIR OUT/v PUBLIC",
    "export nonsense DIR OUT/w", "export wxr DIR DIR/inside PUBLIC", "export",
    "compare DIR OUT/b PUBLIC", "compare DIR nowhere PUBLIC", "compare DIR http://127.0.0.1:9 PUBLIC --allow-private-network",
    "rebuild DIR", "rebuild DIR --at 9", "site DIR", "site DIR OUT/x PUBLIC --public-only", "site DIR OUT/y --at 9",
    "prune DIR --keep-last 1 --dry-run", "prune DIR --keep-last 1", "prune DIR", "prune DIR --keep-last x",
    "sync DIR COPY --dry-run", "sync DIR COPY", "sync DIR COPY", "sync DIR COPY --prune", "sync COPY DIR", "verify COPY", "sync DIR s3://nowhere --object-lock",
    "move wordpress DIR --to http://127.0.0.1:9 --dry-run PUBLIC --allow-private-network", "move blogger DIR --to https://nowhere.invalid",
    "schedule print DIR --for cron", "schedule status DIR", "serve DIR --host 192.0.2.1", "backup DIR --retries 0 --give-up-after 1s",
)  # fmt: skip


DAMAGED = (
    "status DIR", "log DIR", "diff DIR", "show DIR entry 99", "search DIR 港", "files DIR", "verify DIR", "inspect DIR", "export wxr DIR OUT/a PUBLIC",
    "rebuild DIR", "site DIR OUT/x", "prune DIR --keep-last 1", "sync DIR COPY", "verify COPY", "backup DIR --retries 0 --give-up-after 1s",
)  # fmt: skip


def read_all(reader: Reader, commands: tuple[str, ...], **names: Path) -> None:
    """Run commands in which names stand for folders."""
    for command in commands:
        words: list[str] = []
        for word in command.split():
            head, slash, tail = word.partition("/")
            words += PUBLIC if word == "PUBLIC" else [f"{names[head]}{slash}{tail}" if head in names else word]
        reader.run(*words)


def test_reading_an_archive(reader: Reader, copy: Path, tmp_path: Path) -> None:
    read_all(reader, OFTEN_READ, DIR=copy, OUT=tmp_path / "out", COPY=tmp_path / "copy")


@pytest.mark.thorough
def test_reading_an_archive_in_every_way(reader: Reader, copy: Path, tmp_path: Path) -> None:
    read_all(reader, READING, DIR=copy, OUT=tmp_path / "out", COPY=tmp_path / "copy")


def test_reading_some_damaged_archives(reader: Reader, small: Path, tmp_path: Path) -> None:
    for spoil in (damage, gone):
        copy = Path(shutil.copytree(small, tmp_path / spoil.__name__))
        spoil(copy)
        read_all(reader, ("status DIR", "show DIR entry 99", "verify DIR", "rebuild DIR"), DIR=copy)


@pytest.mark.thorough
@pytest.mark.parametrize("spoil", [damage, cut, newer, scribbled, no_manifest, runs_damaged, gone, no_version])
def test_reading_a_damaged_archive(reader: Reader, copy: Path, tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    spoil(copy)
    read_all(reader, DAMAGED, DIR=copy, OUT=tmp_path / "out", COPY=tmp_path / "copy")


WRONG = (
    "", "nonsense", "backup", "backup --nonsense", "backup DIR --rate x", "backup DIR --concurrency 0", "backup DIR --retries -1",
    "backup DIR --assets some", "backup DIR --wait-lock soon", "backup DIR --token-file nowhere", "backup DIR --account nobody",
    "backup DIR --config nowhere.toml", "backup DIR --base-url nowhere", "backup DIR --profile nobody", "backup DIR --max-age x",
    "backup --all", "backup --all DIR", "backup DIR --give-up-after x", "backup DIR --file-url x", "backup DIR --ping-url x",
    "backup DIR --header x", "backup DIR --dry-run -q -v", "status", "status DIR --max-age x", "status DIR DIR", "log DIR --at x", "log DIR --at 2999-13-45",
    "diff DIR x", "show DIR picture 1", "show DIR entry x", "search DIR", "search DIR ( --regex", "search DIR 港 --kind x", "search DIR 港 --limit 0",
    "search DIR 港 --since x", "files DIR --at x", "verify DIR --quick --repair", "verify DIR --expect x", "export wxr", "export wxr DIR",
    "export wxr DIR OUT --public-open-flg", "export wxr DIR OUT --preset obsidian", "export wxr DIR OUT --timezone Mars", "export wxr DIR OUT --old-url x",
    "export wxr DIR OUT --public-open-flg 99", "export wxr DIR OUT --all-as-draft --comments none", "export markdown DIR OUT --preset x",
    "move", "move wordpress DIR", "move wordpress DIR --to x", "compare DIR", "compare DIR x --report DIR", "site DIR --public-only",
    "serve DIR --port x", "serve DIR --port 99999999", "serve DIR --host", "sync DIR", "sync DIR DIR", "sync DIR ftp://x/y", "prune DIR",
    "prune DIR --keep-last 0", "prune DIR --keep-daily x", "schedule", "schedule print", "schedule print --for cron", "schedule print DIR --for x",
    "schedule print DIR --for cron --at x", "schedule print DIR --for systemd", "schedule print DIR --for launchd", "schedule print DIR --for schtasks", "schedule status",
    "schedule status nowhere", "schedule remove nowhere", "schedule install nowhere", "fleet", "fleet run", "fleet run nowhere --into OUT", "fleet status nowhere",
    "fleet verify nowhere", "fleet site nowhere", "fleet export wxr nowhere OUT", "fleet search nowhere 港", "fleet index nowhere",
    "fleet catalogue sqlite nowhere", "fleet catalogue csv nowhere", "fleet rebuild nowhere", "completion", "completion csh", "profiles", "profiles ninja",
    "profiles nobody", "login", "login nowhere.invalid", "logout", "whoami",
    "init", "init x", "check", "check --profile nobody x", "check x --base-url http://127.0.0.1:9",
)  # fmt: skip


def test_wrong_options(reader: Reader, small: Path, tmp_path: Path) -> None:
    read_all(reader, WRONG[::6], DIR=small, OUT=tmp_path / "out")


@pytest.mark.thorough
def test_every_wrong_option(reader: Reader, copy: Path, tmp_path: Path) -> None:
    read_all(reader, WRONG, DIR=copy, OUT=tmp_path / "out")


@pytest.mark.parametrize(
    "settings",
    [
        "x",
        "[blogs.a]\nblog_id = 'nowhere.invalid'\nrate = 'x'",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in (
                "nonsense = 1",
                "rate = 'x'",
                "concurrency = 0",
                "[blogs.a]\nblog_id = 1",
                "[blogs.a]",
                "lang = 'xx'",
                "base_url = 'x'",
                "token = 'x'",
            )
        ),
    ],
)
def test_wrong_settings(reader: Reader, copy: Path, tmp_path: Path, settings: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(settings)
    reader.run("backup", copy, "--config", path, *IMPATIENT)
    reader.run("backup", "--all", "--config", path, *IMPATIENT)
    reader.run("status", copy, "--config", path)


def test_histories_differ(reader: Reader, copy: Path, service: DemoService, tmp_path: Path) -> None:
    other = tmp_path / "other"
    reader.run(*backup(service, other), code=0)
    reader.run("sync", copy, other)
    reader.run("sync", copy, other, "--dry-run")


def test_serving(runs: Runs, reader: Reader, copy: Path) -> None:
    run = runs.start("--lang", "ja", "serve", copy)
    limit = time.monotonic() + 30
    while "http://" not in run.stderr() + run.stdout() and time.monotonic() < limit:
        time.sleep(0.02)
    run.signal(signal.SIGINT)
    reader.read(run.wait(), "serve")


def test_moving(reader: Reader, copy: Path, tmp_path: Path) -> None:
    user, password = LOGIN
    with in_thread(running_home()) as home:
        to = ("--to", home.url, "--new-home-user", user, "--allow-private-network", *PUBLIC)
        reader.run("move", "wordpress", copy, *to, "--dry-run")
        reader.environ = {"BLOG_EXPORTER_NEW_HOME_TOKEN": "wrong"}
        reader.run("move", "wordpress", copy, *to, "--dry-run")
        reader.environ = {"BLOG_EXPORTER_NEW_HOME_TOKEN": password}
        reader.run("move", "wordpress", copy, *to, "--dry-run", code=0)
        reader.run("move", "wordpress", copy, *to)
        reader.run("move", "wordpress", copy, *to, "-v")
        home.rest_posts.pop(next(iter(home.rest_posts)))
        home.rest_posts[next(iter(home.rest_posts))]["title"] = "私の題"
        reader.run("move", "wordpress", copy, *to)
        reader.run("compare", copy, home.url, "--new-home-user", user, "--allow-private-network", *PUBLIC)
        reader.run("compare", copy, home.url, "--allow-private-network", *PUBLIC, "-v")


def test_signing_in(reader: Reader) -> None:
    with guarded(generated_blog(3, 1, 0, blog_id=BLOG)) as server:
        at = ("--base-url", server.base_url)
        reader.environ = {"BLOG_EXPORTER_OAUTH_CLIENT_ID": CLIENT_ID}
        reader.run("login", *at)
        reader.run("whoami", *at)
        reader.run("check", BLOG, *at)
        reader.run("logout", *at)


class TestFleet:
    def read(self, reader: Reader, into: Path) -> None:
        for command in ("verify", "site", "rebuild", "index", "catalogue sqlite", "status"):
            workers = () if command == "status" else ("--workers", "1")
            reader.run("fleet", *command.split(), into, *workers)
        reader.run("fleet", "search", into, "港", "--workers", "1")

    def test_a_good_and_a_missing_blog(self, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        into, blogs = tmp_path / "fleet", tmp_path / "blogs.txt"
        blogs.write_text(f"{BLOG}\nmissing.blog.example.jp\n")
        at = ("--base-url", service.base_url, "--assets", "none", *IMPATIENT)
        reader.run("fleet", "run", blogs, "--into", into, "--tries", "1", *at)
        reader.run("fleet", "status", into)
        reader.run("fleet", "verify", into, "--workers", "1")
        reader.run("sync", into, tmp_path / "copy", "--dry-run")

    @pytest.mark.thorough
    def test_good_and_bad_blogs(self, reader: Reader, service: DemoService, tmp_path: Path) -> None:
        into, blogs = tmp_path / "fleet", tmp_path / "blogs.txt"
        blogs.write_text(f"{BLOG}\nmissing.blog.example.jp\n")
        at = ("--base-url", service.base_url, "--assets", "none", *IMPATIENT)
        run = ("fleet", "run", blogs, "--into", into, "--tries", "1", *at)
        reader.run(*run)
        reader.run("fleet", "status", into)
        reader.run(*run, "--retry-now")
        service.before = faults.only("entry_id=3", faults.status(500))
        reader.run(*run, "--again-after", "0s", "-v")
        reader.run("fleet", "status", into, "-v")
        service.before = faults.status(401)
        reader.run(*run, "--again-after", "0s")
        service.before = faults.status(500)
        reader.run(*run, "--again-after", "0s", "--deadline", "2999-12-31")
        self.read(reader, into)
        reader.run("fleet", "export", "wxr", into, tmp_path / "wxr", *PUBLIC, "--workers", "1")
        reader.run("fleet", "export", "jsonl", into, tmp_path / "all", "--only", "all", "--workers", "1")
        reader.run("sync", into, tmp_path / "copy")
        place = archive_place(into, BLOG)
        damage_entries(place)
        shutil.rmtree(place / "latest")
        self.read(reader, into)
        reader.run("fleet", "export", "wxr", into, tmp_path / "wxr2", *PUBLIC, "--workers", "1")
        reader.run("sync", into, tmp_path / "copy")

    @pytest.mark.parametrize(
        "text",
        [
            f"{BLOG} rate=x",
            *(
                pytest.param(each, marks=pytest.mark.thorough)
                for each in ("", "a b c", f"{BLOG} nonsense=1", f"{BLOG}\n{BLOG}\n")
            ),
        ],
    )
    def test_wrong_lists(self, reader: Reader, service: DemoService, tmp_path: Path, text: str) -> None:
        blogs = tmp_path / "blogs.txt"
        blogs.write_text(text)
        reader.run(
            "fleet", "run", blogs, "--into", tmp_path / "fleet", "--base-url", service.base_url, "--assets", "none"
        )


def damage_entries(root: Path) -> None:
    (root / "versions/000001/entries.jsonl").write_bytes(b"{")


def test_help_of_every_command(program: Program) -> None:
    found: dict[str, dict[str, list[str]]] = {}

    def walk(command: click.Command, *path: str) -> None:
        for option in ("--help", "--help-all"):
            said = program("--lang", "ja", *path, option)
            if words := english_lines(said.out):
                found[" ".join([*path, option])] = words
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                walk(inner, *path, name)

    try:
        walk(cli)
    finally:
        set_language("en")
    assert found == {}
