"""The Model Context Protocol over standard input and output: an assistant's questions to one archive. It only reads.

The library ``mcp`` speaks the protocol; its specification is at modelcontextprotocol.io.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeVar

from exporter.errors import BlogExporterError, UsageError
from exporter.message import PROGRAM, message
from exporter.serve.assistant import NOTE

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.serve.assistant import Assistant

T = TypeVar("T")
_INSTRUCTIONS: Final = f"Read-only access to the archive of one blog. {NOTE} The texts are often Japanese."


def serve(assistant: Assistant) -> None:
    """Answer requests until standard input ends.

    Raises:
        UsageError: the library is not installed.
    """
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 - only this server needs it
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
        from mcp_types import ToolAnnotations  # noqa: PLC0415
    except ImportError as error:
        text = message(
            "--mcp needs a library that is not installed ({error}): pip install 'blog-exporter[mcp]'", error=error
        )
        raise UsageError(text) from error

    server: Any = MCPServer(PROGRAM, instructions=_INSTRUCTIONS)
    hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tool: Callable[[T], T] = server.tool(annotations=hints, structured_output=False)
    # The index may be used in one thread only.
    with ThreadPoolExecutor(1) as thread:

        async def answered(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
            try:
                return await asyncio.get_running_loop().run_in_executor(thread, work)
            except BlogExporterError as error:
                raise ToolError(str(error)) from error

        @tool
        async def overview() -> dict[str, Any]:
            """The blog, its versions, and how much of it is answered."""
            return await answered(assistant.overview)

        @tool
        async def search(query: str, limit: int = 10, earlier: bool = False) -> dict[str, Any]:
            """Search entries and comments for words and "quoted phrases". With earlier: what past versions said."""
            return await answered(lambda: assistant.search(query, limit, earlier=earlier))

        @tool
        async def show(entry: str, version: int | None = None, offset: int = 0) -> dict[str, Any]:
            """Show an entry's text and comments, now or as of a version; offset continues a long text."""
            return await answered(lambda: assistant.show(entry, version, offset))

        @tool
        async def history(entry: str) -> dict[str, Any]:
            """The versions in which an entry changed."""
            return await answered(lambda: assistant.history(entry))

        @tool
        async def diff(entry: str, before: int, after: int) -> dict[str, Any]:
            """The changed paragraphs of an entry between two versions: [-removed-] and {+added+}."""
            return await answered(lambda: assistant.diff(entry, before, after))

        try:
            server.run()
        finally:
            thread.submit(assistant.close).result()
