"""Scrapy's way: the list of entries page by page, then every entry, as JSON lines.

``scrapy runspider spider.py -a base_url=URL -a blog_id=ID -O records.jsonl``
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import scrapy


class Blog(scrapy.Spider):
    """Reads the entries of one blog."""

    name = "blog"
    base_url: str
    blog_id: str

    async def start(self) -> Any:
        """Begin with the first page of the list."""
        yield self._page(1)

    def _page(self, number: int) -> Any:
        return scrapy.Request(f"{self.base_url}/blog/v1/entry/list?id={self.blog_id}&page={number}", self.listed)

    def listed(self, response: Any) -> Iterator[Any]:
        """Request the next page of the list and the entries on this page."""
        data = json.loads(response.body)["json"]["data"]
        if data["paging"]["next_no"]:
            yield self._page(data["paging"]["next_no"])
        for item in data["list"]:
            address = f"{self.base_url}/blog/v1/entry/get?id={self.blog_id}&entry_id={item['entry_id']}"
            yield scrapy.Request(address, self.entry)

    def entry(self, response: Any) -> Iterator[Any]:
        """Store an entry."""
        yield json.loads(response.body)["json"]["data"]
