"""A proxy that blocks and records all requests, outside of the browsers."""

from __future__ import annotations

import socketserver
import threading
from types import TracebackType
from typing import Self


class Trap:
    """Listens on this machine while it is entered; ``asked`` holds the first line of each request."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        trap = self

        class Answer(socketserver.StreamRequestHandler):
            timeout = 5

            def handle(self) -> None:
                trap.asked.append(self.rfile.readline(4096).decode("latin-1").strip())
                self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Answer)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
