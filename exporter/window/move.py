"""The pages that move a blog into a WordPress by its API, and compare the two.

The application password goes into a file that only this user can read, and the command names that file. So neither the
command line nor the job's files contain the password.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter.archive import atomic
from exporter.cli.compare import compare_command
from exporter.cli.export_plan import CHOSEN, command_words, home_of
from exporter.cli.move import WORDS, move_command
from exporter.errors import UsageError
from exporter.export.formats import NAMED
from exporter.message import message
from exporter.move.outcome import Did, Thing
from exporter.service.registry import FLAG_SETTINGS
from exporter.translation import translated, translator
from exporter.window.actions import about_blog, complaints, document_of, line, start, ticked
from exporter.window.export_form import BlogFacts, facts_of, read_flags
from exporter.window.pages import Redirect
from exporter.window.progress import job_values

if TYPE_CHECKING:
    from exporter.window.jobs import Job
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

_ABOUT: Final = "move"
_TRIAL: Final = "--dry-run"
_COMPARE: Final = "compare"
_OF_BOTH: Final = (*FLAG_SETTINGS, *CHOSEN, "new_home_user", "new_home_token_file", "allow_plain_http")
"""The options that a move and its comparison share."""
_NAMES: Final = (*_OF_BOTH, "wordpress_body", "without_addresses")
_SECRET: Final = "password"  # noqa: S105 - the name of the field in the form


def move(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request for ``blog/KEY/move``: show the form and the newest move, try one, begin one."""
    facts, wrong = facts_of(window, archive), list[str]()
    if asked.method == "POST":
        task = asked.text("task")
        if task == "forget":
            _password_file(window, archive).unlink(missing_ok=True)
            return _here(asked)
        with complaints(window, wrong):
            words = _begun(window, asked, archive) if task == "go" else _trial(window, asked, archive, facts)
            start(window, archive, _ABOUT, words)
            return _here(asked)
    job = window.jobs.newest(str(archive), _ABOUT)
    home, user = (_value(job, name) for name in ("--to", "--new-home-user"))
    values = job_values(window, job)
    return window.page(
        "move.html",
        status=400 if wrong else 200,
        **about_blog(asked, archive),
        **values,
        facts=facts,
        trial=job is not None and _TRIAL in job.words,
        sums=_sums(window, job) if job is not None and not values["state"].running else [],
        headings=[translated(WORDS[did], window.language) for did in Did],
        home=asked.text("home") or asked.query.get("home", "") or home,
        user=asked.text("user") or user,
        has_password=_password_file(window, archive).is_file(),
        password_file=_password_file(window, archive),
        chosen=frozenset(value for values in asked.form.values() for value in values),
        ticked=lambda name: ticked(asked, name),
        wrong=wrong,
    )


def _here(asked: Asked) -> Redirect:
    return Redirect(f"blog/{asked.parts[1]}/move")


def _trial(window: Window, asked: Asked, archive: Path, facts: BlogFacts) -> list[str]:
    """Return the command for the trial that a form asks for, and store the form's password.

    Raises:
        UsageError, ValueError: an answer is missing or wrong.
    """
    home, user, password = home_of(line(asked, "home")), line(asked, "user"), line(asked, _SECRET)
    if not home:
        raise UsageError(message("Name the address of your WordPress, as in your browser."))
    if not user:
        raise UsageError(message("Name the user of your WordPress who gets the entries."))
    path = _password_file(window, archive)
    if password:
        atomic.write_secret(path, password)
    elif not path.is_file():
        raise UsageError(message("Give the application password of that user."))
    given: dict[str, Any] = dict(move_command.make_context("move", ["wordpress", str(archive), "--to", home]).params)
    given |= {"new_home_user": user, "new_home_token_file": str(path)}
    given["wordpress_body"] = "blocks" if ticked(asked, "blocks") else None
    given["allow_plain_http"] = "yes" if ticked(asked, "plain") else None
    given["old_urls"] = tuple(pattern.text for pattern in facts.known)
    read_flags(asked, facts, NAMED["wordpress"], given)
    if ticked(asked, "drafts"):
        given["all_as_draft"] = True
    given["without_addresses"] = ticked(asked, "without_addresses")
    if ticked(asked, "rest"):
        given["only"] = "all"
    return [*command_words("move", given, "wordpress", str(archive), "--to", home, names=_NAMES), _TRIAL]


def _begun(window: Window, asked: Asked, archive: Path) -> list[str]:
    """Return the command of the move that a trial showed.

    Raises:
        UsageError: no such trial succeeded.
    """
    job = window.jobs.get(line(asked, "job"))
    if job is None or job.place != str(archive) or job.about != _ABOUT or job.state().exit_code != 0:
        raise UsageError(message("Only a move that was tried can begin. Answer the questions again."))
    return [word for word in job.words if word != _TRIAL]


def _password_file(window: Window, archive: Path) -> Path:
    """Return the file for the application password of an archive's new home."""
    name = hashlib.sha256(str(archive).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return window.folder / "passwords" / name


def _value(job: Job | None, option: str) -> str:
    """Return the value that a command's words give to an option; empty without one."""
    words = () if job is None else job.words
    with suppress(ValueError, IndexError):
        return words[words.index(option) + 1]
    return ""


def _sums(window: Window, job: Job) -> list[dict[str, Any]]:
    """Return the numbers in a move's result, by side and kind of record."""
    sides = document_of(job).get("sides")
    found = []
    for side in sides if isinstance(sides, list) else []:
        things = side.get("things", {})
        rows = [
            {
                "name": translator(window.language)(str(thing)),
                "numbers": [f"{things[str(thing)][str(did)]:,}" for did in Did],
            }
            for thing in Thing
            if str(thing) in things
        ]
        found.append({"side": side.get("side"), "rows": rows})
    return found


def compare(window: Window, asked: Asked, archive: Path) -> Answer:
    """Answer a request for ``blog/KEY/compare``: show the newest comparison with a new home, or begin one."""
    wrong: list[str] = []
    if asked.method == "POST":
        with complaints(window, wrong):
            start(window, archive, _COMPARE, _comparison(window, asked, archive))
            return Redirect(f"blog/{asked.parts[1]}/compare")
    job, moved = window.jobs.newest(str(archive), _COMPARE), window.jobs.newest(str(archive), _ABOUT)
    return window.page(
        "compare.html",
        status=400 if wrong else 200,
        **about_blog(asked, archive),
        **job_values(window, job),
        home=asked.text("home") or (job.words[2] if job is not None else _value(moved, "--to")),
        has_password=_password_file(window, archive).is_file(),
        wrong=wrong,
    )


def _comparison(window: Window, asked: Asked, archive: Path) -> list[str]:
    """Return the command for a comparison with the address in a form.

    Raises:
        UsageError, ValueError: it is no address.
    """
    home = home_of(line(asked, "home"))
    if not home:
        raise UsageError(message("Give the new blog's address as your browser shows it."))
    given: dict[str, Any] = dict(compare_command.make_context("compare", [str(archive), home]).params)
    given["old_urls"] = tuple(pattern.text for pattern in facts_of(window, archive).known)
    moved, path = window.jobs.newest(str(archive), _ABOUT), _password_file(window, archive)
    if ticked(asked, "signed_in") and path.is_file():
        given |= {"new_home_user": _value(moved, "--new-home-user"), "new_home_token_file": str(path)}
        given["allow_plain_http"] = "yes" if moved is not None and "--allow-plain-http" in moved.words else None
    return command_words("compare", given, str(archive), home, names=_OF_BOTH)
