"""Signing in, and the commands afterwards, with the real command and a real server."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from tests.login.conftest import visited
from tests.support.generated import generated_blog
from tests.support.oauth_server import CLIENT_SECRET, OAuthServer
from tests.support.runs import ROOT, Runs, backup_command, folded, held, serving


def kept(home: dict[str, str]) -> list[Path]:
    return sorted(Path(home["XDG_DATA_HOME"]).rglob("*.json"))


def test_sign_in_whoami_backup_and_sign_out(
    runs: Runs, server: OAuthServer, home: dict[str, str], tmp_path: Path
) -> None:
    base = ("--base-url", server.base_url)
    done = runs.run("login", *base, "--json", environ=home)
    assert done.code == 0, done.err
    assert done.document["renewable"] is True
    (path,) = kept(home)
    assert done.document["kept_in"] == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    who = runs.run("whoami", *base, "--json", environ=home)
    assert who.code == 0, who.err
    root = tmp_path / "archive"
    backup = runs.run(*backup_command(server.service, root, "--no-site", "--assets", "none", "-vv"), environ=home)
    assert backup.code == 0, backup.err
    assert folded(root) == held(next(iter(server.service.blogs.values())))
    secrets = [*server.issued, CLIENT_SECRET]
    for text in (done.out + done.err, who.out + who.err, backup.out + backup.err):
        assert not [secret for secret in secrets if secret in text]

    out = runs.run("logout", *base, environ=home)
    assert out.code == 0
    assert "no address to revoke them" in out.err
    assert kept(home) == []
    refused = runs.run("whoami", *base, environ=home)
    assert refused.code == 12
    assert "or sign in: blog-exporter login --base-url" in refused.err


def test_pasting_an_address_and_running_without_a_person(server: OAuthServer, home: dict[str, str], runs: Runs) -> None:
    words = [sys.executable, "-m", "exporter", "login", "--base-url", server.base_url, "--no-browser", "-q"]
    process = subprocess.Popen(
        words, cwd=ROOT, env={**os.environ, **home}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    shown = [process.stderr.readline() for _ in range(3)]
    out, _ = process.communicate(visited(shown[1].strip()) + "\n", timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "an address that begins with http://127.0.0.1:" in shown[2]
    assert len(kept(home)) == 1

    alone = runs.run("login", "--base-url", server.base_url, "--no-browser", environ=home)
    assert alone.code == 2
    assert "There is no terminal for the question: Paste that whole address here." in alone.err
    asked = runs.run(
        "login", "--base-url", server.base_url, environ={**home, "BLOG_EXPORTER_CLIENT_SECRET": "", "BROWSER": "false"}
    )
    assert asked.code == 2
    assert "No browser could be opened here." in asked.err


def test_a_working_keyring_is_used(runs: Runs, server: OAuthServer, home: dict[str, str], tmp_path: Path) -> None:
    chest = {
        **home, "PYTHON_KEYRING_BACKEND": "tests.login.chest.FileChest", "CHEST": str(tmp_path / "chest.json"),
        "BLOG_EXPORTER_OAUTH_REVOKE_URL": f"{server.base_url}/oauth/revoke",
    }  # fmt: skip
    base = ("--base-url", server.base_url)
    done = runs.run("login", *base, "--json", environ=chest)
    assert (done.code, done.document["kept_in"]) == (0, "keyring"), done.err
    assert "is kept in the keyring" in done.err
    (path,) = kept(home)
    assert not [secret for secret in server.issued if secret in path.read_text()]
    server.expire_all()
    who = runs.run("whoami", *base, environ=chest)
    assert "kept in the keyring" in who.out
    assert server.counts["refreshed"] == 1
    locked = runs.run("whoami", *base, environ=home)
    assert locked.code == 12
    assert "The keyring does not give the sign-in" in locked.err
    assert "--sign-in-store file" in locked.err
    out = runs.run("logout", *base, environ=chest)
    assert "the service revoked them" in out.err
    assert json.loads((tmp_path / "chest.json").read_text()) == {}
    again = runs.run("logout", *base, "--json", environ=chest)
    assert again.document == {"signed_out": False, "account": None, "revoked": None}
    assert "There is no stored sign-in for this service." in again.err
    only = runs.run("login", *base, "--sign-in-store", "keyring", environ=home)
    assert only.code == 2
    assert "The keyring cannot keep the sign-in" in only.err


def test_a_service_without_revocation(runs: Runs, server: OAuthServer, home: dict[str, str]) -> None:
    server.manners = replace(server.manners, revokes=False, said=None, refreshes=False)
    environ = {**home, "BLOG_EXPORTER_OAUTH_REVOKE_URL": "{base_url}/oauth/revoke"}
    base = ("--base-url", server.base_url, "--account", "me")
    done = runs.run("login", *base, environ=environ)
    assert "The service does not say when it ends" in done.err
    assert "as no keyring took it" in done.err
    assert "Signed in as me, kept in" in runs.run("whoami", *base[:2], environ=environ).out
    out = runs.run("logout", *base, environ=environ)
    assert out.code == 0
    assert "the service did not revoke them (it refused)" in out.err


def test_a_token_from_the_settings_precedes_a_sign_in(runs: Runs, tmp_path: Path, home: dict[str, str]) -> None:
    with serving(generated_blog(3, 1, 1), require_token="a-token-1") as service:
        environ = {**home, "BLOG_EXPORTER_TOKEN": "a-token-1"}
        who = runs.run("whoami", "--base-url", service.base_url, environ=environ)
        assert who.code == 0
        assert "The token comes from variable BLOG_EXPORTER_TOKEN." in who.out
    nowhere = runs.run("login", environ=home)
    assert nowhere.code == 2
    assert "Which service?" in nowhere.err


def test_a_backup_never_shows_a_token_in_addresses(runs: Runs, tmp_path: Path, home: dict[str, str]) -> None:
    root, token = tmp_path / "archive", "in-the-query+/1="

    async def before(request: web.Request) -> web.StreamResponse | None:
        if request.query.get("access_token") != token:
            return web.json_response({}, status=401)
        if request.query.get("entry_id") == "2":
            return web.Response(status=503, text=str(request.url))
        if request.query.get("entry_id") == "3":
            said = {"json": {"result": "error", "message": f"you asked {request.rel_url}", "data": {}}}
            return web.json_response(said, status=404)
        return None

    with serving(generated_blog(6, 1, 1)) as service:
        service.before = before
        environ = {**home, "BLOG_EXPORTER_TOKEN": token, "BLOG_EXPORTER_AUTH_QUERY": "access_token"}
        options = ("--no-site", "--assets", "none", "--retries", 1, "-vv", "--json")
        done = runs.run(*backup_command(service, root, *options), environ=environ)
        assert done.code == 3, done.err
        refused = runs.run(
            *backup_command(service, root, *options), environ={**environ, "BLOG_EXPORTER_TOKEN": "wrong-1"}
        )
        assert refused.code == 12
    texts = [done.out + done.err, refused.out + refused.err]
    texts += [path.read_text("latin-1") for path in root.rglob("*") if path.is_file()]
    forms = (token, quote(token, safe=""), quote(token), "wrong-1")
    assert not [form for form in forms for text in texts if form in text]
