"""Signing in and what follows, by the real command against a real server."""

from __future__ import annotations

import stat
from pathlib import Path

from tests.support.oauth_server import CLIENT_SECRET, OAuthServer
from tests.support.runs import Runs, backup_command, folded, held


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
    assert "no address that takes them back" in out.err
    assert kept(home) == []
    refused = runs.run("whoami", *base, environ=home)
    assert refused.code == 12
    assert "sign in with blog-exporter login" in refused.err
