"""Signing in at a blog's service: the page leads there, and the service leads back to the command that waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.cli.blog_names import blog_id_in
from exporter.message import message
from exporter.settings import config_folder
from exporter.window.found import LOOK, job_in
from exporter.window.pages import Redirect
from exporter.window.progress import job_values

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.window.pages import Answer, Asked
    from exporter.window.window import Window

SIGN_IN: Final = "sign-in"


def sign_in(window: Window, asked: Asked) -> Answer:
    """Answer ``sign-in/JOB``: start a sign-in from a check's job, show its progress, and pass on a pasted answer."""
    task = asked.parts[2] if len(asked.parts) > 2 else ""
    looked = job_in(window, asked, LOOK)
    if asked.method == "POST" and looked is not None:
        words = ["login", blog_id_in(looked.words[1]), *_client_words(asked)]
        about = f"{SIGN_IN} {looked.id}"
        job = window.jobs.start(words, about=about, language=window.language, asks=True)
        return Redirect(f"{SIGN_IN}/{job.id}")
    job_found = job_in(window, asked, SIGN_IN)
    if job_found is None:
        return window.failed(message("There is no such page."), 404)
    if asked.method == "POST" and task == "reply":
        window.jobs.reply(job_found, asked.text("answer"))
        return Redirect(f"{SIGN_IN}/{job_found.id}")
    values = job_values(window, job_found)
    before = job_found.about.partition(" ")[2]
    if values["state"].exit_code == 0:
        return Redirect(f"found/{before}")
    return window.page("sign_in.html", **values, before=before)


def _client_words(asked: Asked) -> list[str]:
    """Return the options for the client ID and its secret that were typed; the secret goes into a private file."""
    client, secret = asked.text("client_id"), asked.text("client_secret")
    words = [f"--oauth-client-id={client}"] if client else []
    return [*words, f"--oauth-client-secret-file={_kept_secret(client, secret)}"] if client and secret else words


def _kept_secret(client: str, secret: str) -> Path:
    path = config_folder() / "tokens" / f"client-{''.join(each for each in client if each.isalnum())[:40]}"
    atomic.write_secret(path, secret)
    return path
