"""A timestamp authority on loopback: a certificate authority made by ``openssl``, and ``openssl ts`` behind HTTP."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

CONFIG = """\
[req]
distinguished_name = name
[name]
[ca]
default_ca = test
[test]
dir = {folder}
database = {folder}/index.txt
serial = {folder}/ca.serial
new_certs_dir = {folder}
default_md = sha256
policy = any
unique_subject = no
copy_extensions = none
[any]
commonName = supplied
[root]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[above]
basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[authority]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[server]
basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
[answers]
serial = {folder}/ts.serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ess_cert_id_alg = sha256
"""
FROM, UNTIL = "20250101000000Z", "20991231235959Z"


@dataclass
class Authority:
    """An authority's files in ``folder``: a root, a certificate between, and the signer's."""

    folder: Path

    @property
    def root(self) -> Path:
        """The root's certificate."""
        return self.folder / "root.pem"

    def openssl(self, *words: object, **how: object) -> bytes:
        """Run ``openssl`` in the folder, and return its output."""
        command = ["openssl", *map(str, words)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, check=False, **how)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr
        return bytes(done.stdout)

    def issue(self, name: str, by: str, kind: str, *, since: str = FROM, until: str = UNTIL) -> None:
        """Make a key and a certificate with the extensions of a section."""
        self.openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
        subject = f"/CN=Test {name}"
        self.openssl("req", "-new", "-key", f"{name}.key", "-subj", subject, "-config", "ca.cnf", "-out", f"{name}.csr")
        issuer = ("-selfsign",) if by == name else ("-cert", f"{by}.pem")
        self.openssl(
            "ca", "-batch", "-notext", "-config", "ca.cnf", "-keyfile", f"{by}.key", *issuer, "-extensions", kind,
            "-startdate", since, "-enddate", until, "-in", f"{name}.csr", "-out", f"{name}.pem",
        )  # fmt: skip

    def reply(self, query: bytes, signer: str = "authority") -> bytes:
        """Answer a query as ``openssl ts`` does."""
        return self.openssl(
            "ts", "-reply", "-config", "ca.cnf", "-section", "answers", "-queryfile", "/dev/stdin",
            "-signer", f"{signer}.pem", "-inkey", f"{signer}.key", "-chain", "above.pem", input=query,
        )  # fmt: skip

    def query(self, data: bytes) -> bytes:
        """Make another query with another nonce."""
        return self.openssl("ts", "-query", "-data", "/dev/stdin", "-sha256", "-cert", input=data)


def make_authority(folder: Path) -> Authority:
    """Make the certificates."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Authority(folder)
    (folder / "ca.cnf").write_text(CONFIG.format(folder=folder))
    (folder / "index.txt").write_text("")
    for name in ("ca.serial", "ts.serial"):
        (folder / name).write_text("01\n")
    made.issue("root", "root", "root")
    made.issue("above", "root", "above")
    made.issue("authority", "above", "authority")
    return made


Answer = Callable[[bytes], bytes]


@dataclass
class Served:
    """A running authority.

    Attributes:
        url: its address.
        answer: returns the body for a query; a test may replace it.
        status: the HTTP status.
        queries: the bodies of all requests.
    """

    url: str
    answer: Answer
    status: int
    queries: list[bytes]


@contextmanager
def serving_authority(authority: Authority) -> Iterator[Served]:
    """Serve an authority over HTTP on loopback."""

    class Handler(BaseHTTPRequestHandler):
        served: ClassVar[Served]

        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/timestamp-query"
            self.served.queries.append(query)
            body = self.served.answer(query)
            self.send_response(self.served.status)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # the client hangs up on an answer that is too large
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        Handler.served = Served(f"http://127.0.0.1:{server.server_address[1]}/tsr", authority.reply, 200, [])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield Handler.served
        finally:
            server.shutdown()
            thread.join()
