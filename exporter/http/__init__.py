"""HTTP: the transport, retries, pace, downloads. The only client of aiohttp."""
