"""From an address or a file to the first backup: the check, its result, and the form that starts."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from exporter.archive import atomic
from exporter.archive.layout import Layout
from exporter.archive.reader import ids_at, is_archive, read_info
from exporter.archive.writer import require_place
from exporter.cli.blog_names import address_in, blog_id_in, completed_address, without_password
from exporter.cli.output import estimated, size_text, time_text
from exporter.errors import BlogExporterError, UsageError
from exporter.login.facts import is_signed_in
from exporter.message import message
from exporter.schedule import schedulers
from exporter.service.declarations import ATOMPUB
from exporter.service.registry import profile_for
from exporter.settings import config_folder, known_profiles, read_config, resolve
from exporter.window import archives
from exporter.window.actions import MAX_CHARACTERS, TIME
from exporter.window.pages import Redirect
from exporter.window.progress import job_values
from exporter.window.uploads import FILE_FIELD

if TYPE_CHECKING:
    from exporter.settings import Settings
    from exporter.window.jobs import Job, JobState
    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

LOOK: Final = "look"
INIT: Final = "init"
_NOT_AUTHORISED: Final = 12
_ASSETS: Final = ("linked", "embedded", "none")
_SHORTEST_SECONDS: Final = 10.0
"""A shorter estimate would promise more than it knows."""


def look(window: Window, asked: Asked) -> Answer:
    """Start the check of the address or file of the first page's form: ``look``."""
    if asked.method != "POST":
        return Redirect("")
    job = window.jobs.start(["check", _source(window, asked)], about=LOOK, language=window.language)
    return Redirect(f"found/{job.id}")


def _source(window: Window, asked: Asked) -> str:
    """Return the argument that names the blog in commands: a path, a blog ID with a known service, or an address.

    Raises:
        UsageError: the form names nothing, or an address with a password or an invalid host.
    """
    uploaded = asked.form.get(FILE_FIELD, [])
    text = uploaded[0] if uploaded else asked.text("address").strip("\"'")
    if not text or len(text) > MAX_CHARACTERS or "\0" in text:
        raise UsageError(message("Paste a blog's address, or choose the file that its service gave you."))
    path = named_path(text)
    if path.exists():
        return str(path)
    address, blog_id = address_in(completed_address(text)), ""
    if address is None:
        raise UsageError(
            message(
                "This is neither the address of a blog nor a file on this computer: {text}",
                text=repr(without_password(text)),
            )
        )
    with suppress(ValueError):
        blog_id = blog_id_in(address)
    return blog_id if blog_id and _has_service(_settings(window, blog_id)) else address


def named_path(text: str) -> Path:
    """Return the path that a person typed: absolute, with ``~``, or below the home folder."""
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        path = Path(text)
    return path if path.is_absolute() else Path.home() / path


def _settings(window: Window, blog_id: str) -> Settings:
    return resolve({}, config=window.config, blog_id=blog_id)


def _has_service(settings: Settings) -> bool:
    """Return whether the settings suffice to read the blog through its service's API."""
    return settings.base_url is not None and (settings.service != ATOMPUB.name or settings.user is not None)


def found(window: Window, asked: Asked) -> Answer:
    """Show a check's result, and the form that begins the first backup: ``found/JOB``."""
    job = job_in(window, asked, LOOK)
    if job is None:
        return window.failed(message("There is no such page."), 404)
    values, answer = {**job_values(window, job), "source": job.words[1]}, job.answer()
    if values["state"].running:
        return window.page("looking.html", **values)
    if "error" in answer or not answer:
        return window.page("nothing_found.html", **values)
    return window.page("found.html", **values, **_facts(window, job, values["state"], answer))


def job_in(window: Window, asked: Asked, about: str) -> Job | None:
    """Return the job that a path names, if it is one of this kind."""
    job = window.jobs.get(asked.parts[1]) if len(asked.parts) > 1 else None
    return job if job is not None and job.about.partition(" ")[0] == about else None


def _facts(window: Window, job: Job, state: JobState, answer: dict[str, Any]) -> dict[str, Any]:
    """Return everything that the page of a found blog shows."""
    source = job.words[1]
    ways = [each for each in answer.get("ways", []) if isinstance(each, dict)]
    best = ways[0] if ways else {}
    blog_id = _blog_id(source, answer, best)
    settings = _settings(window, blog_id)
    told = [each for each in state.facts if each.get("event") == "way"]
    profile = profile_for(blog_id, reversed(known_profiles(read_config(window.config)).values()))
    can_sign_in = not ways and settings.oauth_authorize_url is not None and settings.oauth_token_url is not None
    signed_in = not ways and is_signed_in(settings)
    refused = answer.get("exit_code") == _NOT_AUTHORISED
    findings = [each for each in state.facts if each.get("event") == "finding" and each.get("exit_code")]
    estimate = answer.get("estimate")
    return {
        "blog_id": blog_id,
        "title": str(best.get("title") or ""),
        "label": told[0]["label"] if told else (profile.title if profile is not None else answer.get("base_url")),
        "counts": told[0]["counts"] if told else _estimated(estimate),
        "cost": _cost(estimate),
        "lacks": told[0]["lacks"] if told else [],
        "findings": [] if refused and signed_in else findings,
        "others": [
            {**each, "label": shown["label"], "counts": shown["counts"]}
            for each, shown in zip(ways[1:], told[1:], strict=False)
        ],
        "from_file": "files" in answer,
        "cannot_schedule": "" if schedulers.best() is not None else schedulers.cannot_schedule(),
        "can_sign_in": can_sign_in,
        "signed_in": signed_in,
        "refused": refused and not signed_in,
        "needs_client": can_sign_in and not settings.oauth_client_id,
        "place": _shown_path(_free_place(blog_id)),
        "free": size_text(shutil.disk_usage(Path.home()).free),
        "same": [each for each in archives.known(window) if blog_id in ids_at(each.path)],
    }


def _blog_id(source: str, answer: dict[str, Any], way: dict[str, Any]) -> str:
    named = str(answer.get("blog_id") or way.get("blog_id") or "").replace("/", "-")
    if named:
        return named
    address = str(way.get("base_url") or ("" if "files" in answer else source))
    try:
        return blog_id_in(address)
    except ValueError:
        stem = urlsplit(address).hostname or Path(source).name.partition(".")[0]
        return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "blog"


def _estimated(estimate: Any) -> str:
    if not isinstance(estimate, dict):
        return ""
    return estimated(*(int(estimate[name]) for name in ("entries", "comments", "files")))


def _cost(estimate: Any) -> str:
    if not isinstance(estimate, dict):
        return ""
    seconds = max(_SHORTEST_SECONDS, float(estimate["seconds"]))
    time, size = time_text(seconds), size_text(float(estimate["bytes"]))
    return message(
        "The first backup takes about {time} and {size}, without pictures on other sites.", time=time, size=size
    )


def _free_place(blog_id: str) -> Path:
    """Return a folder below ``~/blogs`` that is free, or has this blog's archive."""
    folder = archives.blogs_folder()
    number, path = 1, folder / blog_id
    while path.exists() and not _holds(path, blog_id):
        number += 1
        path = folder / f"{blog_id}-{number}"
    return path


def _holds(path: Path, blog_id: str) -> bool:
    try:
        if is_archive(Layout(path)):
            return read_info(Layout(path)).blog_id == blog_id
        return path.is_dir() and not any(path.iterdir())
    except (BlogExporterError, OSError):
        return False


def _shown_path(path: Path) -> str:
    """Return a path with ``~`` for the home folder."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except ValueError:
        return str(path)


def begin(window: Window, asked: Asked) -> Answer:
    """Start the first backup with the answers of the form: ``begin/JOB``."""
    job = job_in(window, asked, LOOK)
    if job is None or asked.method != "POST":
        return window.failed(message("There is no such page."), 404)
    place = named_path(asked.text("place"))
    words = ["init", job.words[1], "--yes", "--archive", str(place), "--no-sign-in"]
    answer, title, token = job.answer(), asked.text("title"), asked.text("token")
    if title:
        words += [f"--site-title={' '.join(title.split())}"]
    words += ["--assets", _one_of(asked.text("assets"), _ASSETS)]
    way = _way_words(window, asked, answer)
    words += way
    _require_place(place, job.words[1], answer)
    if "files" not in answer:
        words += _time_words(asked)
    if token:
        words += ["--token-file", str(_kept_token(place, token)), "--token-for", str(answer.get("base_url") or "")]
    elif way:
        words += ["--token-for", ""]  # the address was found, not typed
    if window.config is not None:
        words += ["--config", str(window.config.absolute())]
    begun = window.jobs.start(words, about=INIT, place=str(place), language=window.language)
    return Redirect(f"job/{begun.id}")


def _require_place(place: Path, source: str, answer: dict[str, Any]) -> None:
    """Refuse a folder that cannot take the blog's archive, before a token is kept for it.

    Raises:
        BlogExporterError: it has the archive of another blog, or other files.
    """
    ways = [each for each in answer.get("ways", []) if isinstance(each, dict)]
    require_place(place, _blog_id(source, answer, ways[0] if ways else {}))


def _way_words(window: Window, asked: Asked, answer: dict[str, Any]) -> list[str]:
    """Return the options that choose another way than the one ``init`` prefers."""
    ways = [each for each in answer.get("ways", []) if isinstance(each, dict)]
    if not ways or "files" in answer:
        return []
    chosen = next((each for each in ways if each.get("service") == asked.text("way")), ways[0])
    blog_id = str(chosen.get("blog_id") or "")
    if chosen is ways[0] and _settings(window, blog_id or "blog").base_url is None:
        return []
    return ["--base-url", str(chosen.get("base_url")), "--service", str(chosen.get("service"))]


def _time_words(asked: Asked) -> list[str]:
    """Return the option for the nightly backup's time; without it, ``init`` chooses a minute at night."""
    when, time = asked.text("when"), asked.text("time")
    if when == "never":
        return ["--at", "never"]
    if when != "time":
        return []
    if not TIME.fullmatch(time):
        raise UsageError(message("Choose a time such as 03:30 for the nightly backup."))
    return ["--at", time]


def _one_of(text: str, offered: tuple[str, ...]) -> str:
    return text if text in offered else offered[0]


def _kept_token(place: Path, token: str) -> Path:
    """Write a token into a file that only its owner can read, where ``init`` keeps them; return the file."""
    path = config_folder() / "tokens" / archives.key_of(place)
    atomic.write_secret(path, token)
    return path
