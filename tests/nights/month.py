"""``python -m tests.nights.month``: simulate a month of nightly backups and write docs/nights.md.

The sample service, the monitor and the command line are real. The program's clock is set to each night in turn.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

from exporter.cli.main import main
from exporter.clock import SystemClock
from exporter.demo.content import Blog, fields
from tests.notify.conftest import FakeMonitor, watching
from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.disks import without_waiting
from tests.support.generated import generated_blog
from tests.support.runs import ROOT, backup_command, serving

PAGE = ROOT / "docs" / "nights.md"
FIRST = datetime(2026, 11, 30, 18, 17, tzinfo=UTC)
"""The first night, at 03:17 in the blog's time zone."""
_JAPAN = timezone(timedelta(hours=9))
CLOSING = "2026-12-27"
_FULL = 4096
"""Largest size of a file, in bytes, on the simulated full disk: enough for the record of reports, not for a version."""
_HOOK = 'printf "%s\\n" "$BLOG_EXPORTER_EVENT" >> "$0"'

_HEAD = """\
# A month of nights

This page shows the mails and notices of thirty nightly backups. `python -m tests.nights.month` simulates them and writes this page. It uses
the real program, a service on this machine and a monitor that speaks the protocol of healthchecks.io. A test repeats the simulation and
compares the result with this page. Each night at 03:17, the scheduler runs:

    {command}

- *Mail*: the output of the run, which cron sends to the owner.
- *Monitor*: the state that the monitor shows in the morning. Its check has a period of a day and some hours of grace.
- *Command*: the event that the `on_failure` command receives.

[notifications.md](notifications.md) explains each of them. The test simulates the full disk with a limit on the size of files.

| Night | What happens | Exit code | Mail | Monitor | Command |
|---|---|---|---|---|---|
"""


@dataclass
class Stage:
    """The state that a night can change.

    Attributes:
        blog: the service's blog.
        spare: entries that the owner writes later.
        uploads: files that the owner uploads later.
        variables: environment variables of the backup.
        base_url: replaces the service's own address.
        file_size: the largest file that fits on the disk, in bytes.
    """

    blog: Blog
    service: DemoService
    spare: dict[Any, Any]
    uploads: list[Any]
    variables: dict[str, str] = field(default_factory=dict)
    base_url: str | None = None
    file_size: int | None = None

    def write(self) -> None:
        """Have the owner write an entry."""
        number = next(iter(self.spare))
        self.blog.entries[number] = self.spare.pop(number)

    def upload(self, status: int) -> None:
        """Have the owner upload a picture whose server answers with a status."""
        record = self.uploads.pop()
        self.blog.files.append(record)
        self.service.before = faults.only(f"/{fields(record)['mtime']}", faults.status(status))


@dataclass(frozen=True)
class Plan:
    """A night: its description, its change before the run, the delay of the run in hours, or no run at all."""

    words: str
    change: Callable[[Stage], None] = lambda _: None
    late: int = 0
    asleep: bool = False


@dataclass(frozen=True)
class Night:
    """The result of a night; ``code`` is ``None`` if nothing ran."""

    number: int
    words: str
    code: int | None
    mail: str
    monitor: str
    command: str

    def row(self) -> str:
        """Return the night's row of the table."""
        date = (FIRST + timedelta(days=self.number)).astimezone(_JAPAN).day
        code = "–" if self.code is None else str(self.code)
        mail = "<br>".join(self.mail.replace("|", "\\|").splitlines())
        return f"| {date} | {self.words} | {code} | {mail} | {self.monitor} | {self.command} |\n"


def _strike(fault: faults.Fault | None) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        stage.service.before = fault

    return change


def _network(there: bool) -> Callable[[Stage], None]:
    def change(stage: Stage) -> None:
        stage.base_url = None if there else "http://127.0.0.1:1"

    return change


def _sign_in(stage: Stage) -> None:
    stage.variables["BLOG_EXPORTER_TOKEN"] = stage.service.options.require_token or ""


def _expire(stage: Stage) -> None:
    stage.service.options = replace(stage.service.options, require_token="tok-3n-new")


def _fill(stage: Stage) -> None:
    stage.write()
    stage.file_size = _FULL


def _empty(stage: Stage) -> None:
    stage.file_size = None


def _picture(status: int) -> Callable[[Stage], None]:
    return lambda stage: stage.upload(status)


def _vanish(stage: Stage) -> None:
    for number in list(stage.blog.entries)[:14]:
        stage.spare[number] = stage.blog.entries.pop(number)


def _return(stage: Stage) -> None:
    for number in range(1, 15):
        stage.blog.entries[number] = stage.spare.pop(number)


MONTH = (
    Plan("the first backup"),
    Plan("nothing changed"),
    Plan("a new entry", Stage.write),
    Plan("the service answers each request with 503 once", _strike(faults.times(1, faults.status(503)))),
    Plan("nothing changed", _strike(None)),
    Plan("no network", _network(False)),
    Plan("no network", _network(False)),
    Plan("the network is back", _network(True)),
    Plan("the machine sleeps until 08:17, then the timer starts the missed run", late=5),
    Plan("the machine is off all night", asleep=True),
    Plan("the machine is on again, and there is a new entry", Stage.write),
    Plan("the sign-in has expired", _expire),
    Plan("the sign-in is still expired"),
    Plan("the owner signed in again", _sign_in),
    Plan("a new entry, but the disk is full", _fill),
    Plan("the disk is still full"),
    Plan("the disk has space again", _empty),
    Plan("a new picture, but its server refuses it (403)", _picture(403)),
    Plan("the server still refuses the picture"),
    Plan("the server delivers the picture", _strike(None)),
    Plan("another new picture, but it is gone (404)", _picture(404)),
    Plan("the picture is still gone"),
    Plan("the picture is back", _strike(None)),
    Plan("14 of the 24 entries disappear at once", _vanish),
    Plan("the entries are still gone"),
    Plan("the entries are back; the service announced its end", _return),
    Plan("the last day of the service; everything is saved"),
    Plan("the service is gone", _network(False)),
    Plan("the service stays gone"),
    Plan("the service stays gone"),
)


def month(folder: Path) -> list[Night]:
    """Run all nights in a folder, and return their results."""
    blog = generated_blog(24, 6, 6)
    spare = {number: blog.entries.pop(number) for number in (22, 23, 24)}
    uploads = [blog.files.pop() for _ in range(2)]
    called = folder / "called"
    called.touch()
    with (
        serving(blog, require_token="tok-3n-old") as service,
        watching() as monitor,
        mock.patch("os.fsync", without_waiting),
    ):
        stage = Stage(blog, service, spare, uploads)
        stage.variables = {
            "BLOG_EXPORTER_PING_URL": monitor.url,
            "BLOG_EXPORTER_ON_FAILURE": shlex.join(["sh", "-c", _HOOK, str(called)]),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "BLOG_EXPORTER_LANG": "en",
        }
        _sign_in(stage)
        nights = []
        for number, plan in enumerate(MONTH):
            plan.change(stage)
            if plan.words.endswith("announced its end"):
                stage.variables["BLOG_EXPORTER_CLOSING"] = CLOSING
            nights.append(_night(number, plan, stage, folder / "blog", monitor, called))
        return nights


def _night(number: int, plan: Plan, stage: Stage, root: Path, monitor: FakeMonitor, called: Path) -> Night:
    if plan.asleep:
        return Night(number, plan.words, None, "", "down: no ping came", "")
    pings, calls = len(monitor.pings), len(called.read_text().splitlines())
    now = FIRST + timedelta(days=number, hours=plan.late)
    said = io.StringIO()
    with (
        mock.patch.object(SystemClock, "now", return_value=now),
        mock.patch.dict(os.environ, stage.variables),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        mock.patch("exporter.cli.notify.run_command", _hook(called)),
        _disk(stage.file_size),
    ):
        code = main(_command(stage, root))
    ends = [ping.path for ping in monitor.pings[pings:]]
    state = {"": "up", "/fail": "down: it failed"}[ends[-1]]
    events = called.read_text().splitlines()[calls:]
    mail = _without_places(said.getvalue(), root, stage)
    return Night(number, plan.words, code, mail, state, ", ".join(events))


def _hook(called: Path) -> Callable[[str, str, Mapping[str, str]], None]:
    """Return what the hook does, without a process for each night."""

    def call(command: str, _text: str, facts: Mapping[str, str]) -> None:
        assert command == shlex.join(["sh", "-c", _HOOK, str(called)])
        with called.open("a", encoding="utf-8") as file:
            file.write(facts["EVENT"] + "\n")

    return call


def _command(stage: Stage, root: Path) -> list[str]:
    files = stage.service.base_url + "/v1/blog/user/{user_id}/{mtime}"
    options = (
        "--assets", "files", "--file-url", files, "--allow-private-network", "--no-site", "--no-markdown",
        "--retries", 1, "--no-remember", "-q",
    )  # fmt: skip
    words = [str(word) for word in backup_command(stage.service, root, *options)]
    return [stage.base_url or word if word == stage.service.base_url else word for word in words]


@contextlib.contextmanager
def _disk(file_size: int | None) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft if file_size is None else file_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _without_places(text: str, root: Path, stage: Stage) -> str:
    """Replace this machine's folders, ports and error numbers with neutral ones."""
    text = text.replace(str(root), "/home/YOU/blog").replace(stage.service.base_url, "https://api.example.jp")
    text = re.sub(r"127\.0\.0\.1:[0-9]+", "api.example.jp", text)
    text = re.sub(r" \(\[Errno [0-9]+\] Connect call failed \([^)]*\)\)", "", text)
    return re.sub(r"/v1/blog/user/[0-9a-f]+/[0-9]+", "/…/PICTURE", text).replace(
        "generated.blog.example.jp", "NAME.blog.example.jp"
    )


def page(nights: list[Night]) -> str:
    """Return the page with a row for each night."""
    command = "blog-exporter backup NAME.blog.example.jp --archive /home/YOU/blog -q"
    return _HEAD.format(command=command) + "".join(night.row() for night in nights)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        lived = month(Path(place))
    text = page(lived)
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
