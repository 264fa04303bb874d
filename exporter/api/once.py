"""An answer of aiohttp that is asked for once."""

from __future__ import annotations

import aiohttp
from aiohttp.connector import Connection

from exporter.errors import ConnectFailed
from exporter.printable import printable


class SingleTry(aiohttp.ClientResponse):
    """Keeps aiohttp from sending a GET again by itself when a kept connection turns out to be closed.

    The second try is left to whoever counts requests and knows the pace.
    """

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the answer."""
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise ConnectFailed(f"the connection to {self.host} broke ({printable(str(error))})") from None
