"""Web servers read the redirects, and send visitors of every old address to the new one."""

from __future__ import annotations

import csv
import http.client
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from exporter.html.links import AddressPattern
from tests.importers.blogs import BLOGS, blog
from tests.importers.conftest import Tool
from tests.importers.ledger import Count, Ledger

OLD = (
    AddressPattern("https://{blog_id}/Entry/{entry_id}/", "--old-url"),
    AddressPattern("https://{blog_id}/t/{title}", "--old-url"),
)
NEW = AddressPattern("https://new.example/{year}/{slug}", "--new-url")
NGINX = """
daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; server_names_hash_bucket_size 128;
  server {{ listen 127.0.0.1:{port}; large_client_header_buffers 4 32k; include {redirects}; location / {{ return 404; }} }}
}}
"""
APACHE = """
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
PidFile {folder}/pid
DefaultRuntimeDir {folder}
ErrorLog /dev/stderr
LimitRequestLine 32000
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule alias_module {modules}/mod_alias.so
LoadModule authz_core_module {modules}/mod_authz_core.so
Include {redirects}
"""
MODULES = "/usr/lib/apache2/modules"


def options() -> dict[str, Any]:
    return {"old_urls": OLD, "new_url": NEW}


@contextmanager
def served(tool: Tool, server: str, redirects: Path, folder: Path) -> Iterator[int]:
    """Start a server with the redirects; yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = NGINX if server == "nginx" else APACHE
    config = folder / "server.conf"
    config.write_text(text.format(folder=folder, port=port, redirects=redirects, modules=MODULES))
    arguments = ["-e", "stderr", "-c", config] if server == "nginx" else ["-f", config]
    tool(server, "-t", *arguments)
    foreground = [] if server == "nginx" else ["-D", "FOREGROUND"]
    process = subprocess.Popen([tool.path(server), *map(str, arguments), *foreground])
    try:
        for _ in range(200):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("name", BLOGS)
@pytest.mark.parametrize("server", ["nginx", "apache2"])
def test_every_old_address_leads_to_the_new_one(
    tool: Tool, ledger: Ledger, tmp_path: Path, name: str, server: str
) -> None:
    with blog(name, tmp_path / "archive") as moved:
        report = moved.export("redirects", tmp_path / "out", **options())
        config = tmp_path / "out" / f"{server.removesuffix('2')}.conf"
        with (tmp_path / "out" / "redirects.csv").open(encoding="utf-8", newline="") as file:
            pairs = [(row["old"], row["new"]) for row in csv.DictReader(file)]
        unsaid = [line for line in config.read_text(encoding="utf-8").splitlines() if line.startswith("# No line")]
        begun = time.perf_counter()
        with served(tool, server, config, tmp_path) as port:
            led = {old: _location(port, urlsplit(old).path) for old, _ in pairs}
        seconds = time.perf_counter() - begun
        right = [old for old, new in pairs if led[old] == new]
        assert len(right) + len(unsaid) == len(pairs), [(old, led[old]) for old, new in pairs if led[old] != new]
        posts = [old for old in right if "/Entry/" in old]
        ledger.enter("redirects", server, name, moved.count(), Count(posts=len(posts)), report, seconds,
                     comments="addresses only", categories="addresses only", pictures="addresses only")  # fmt: skip


def _location(port: int, path: str) -> str | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != http.client.MOVED_PERMANENTLY:
            return None
        return re.sub("%[0-9a-f]{2}", lambda found: found[0].upper(), answer.headers["Location"])
    finally:
        connection.close()
