"""Scrapy's way to a web archive: follow the links of one host, and write each exchange with warcio.

``scrapy runspider warc_spider.py -a home=URL -a target=FILE.warc.gz``
"""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

_IN_STYLES = re.compile(rb"url\(['\"]?([^'\")]+)")


class WarcWriting:
    """A downloader middleware that writes each answer with its request."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._file: Any = None

    @classmethod
    def from_crawler(cls, crawler: Any) -> WarcWriting:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_response(self, request: Any, response: Any) -> Any:
        """Write an answer; Scrapy keeps its body as received, because decompression is off."""
        spider = self._crawler.spider
        if self._file is None:
            self._file = Path(spider.target).open("wb")  # noqa: SIM115 - the process ends with the spider
            self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
            self._writer.write_record(self._writer.create_warcinfo_record(spider.target, {"software": "Scrapy"}))
        writer = self._writer
        head = [(name.decode(), value.decode()) for name, values in response.headers.items() for value in values]
        sent = [(name.decode(), value.decode()) for name, values in request.headers.items() for value in values]
        place = urlsplit(request.url)
        about = {"WARC-IP-Address": str(response.ip_address)} if response.ip_address else {}
        answer = writer.create_warc_record(
            request.url,
            "response",
            payload=BytesIO(response.body),
            http_headers=StatusAndHeaders(f"{response.status} OK", head, protocol="HTTP/1.1"),
            warc_headers_dict=about,
        )
        line = f"{request.method} {place.path or '/'}{'?' if place.query else ''}{place.query} HTTP/1.1"
        asked = writer.create_warc_record(
            request.url,
            "request",
            payload=BytesIO(request.body),
            http_headers=StatusAndHeaders(line, [("Host", place.netloc), *sent], is_http_request=True),
            warc_headers_dict=dict(about),
        )
        writer.write_request_response_pair(asked, answer)
        return response


class Pages(scrapy.Spider):
    """Follows the links, pictures, style sheets and scripts of one host."""

    name = "pages"
    custom_settings: ClassVar[dict[str, Any]] = {
        "DOWNLOADER_MIDDLEWARES": {WarcWriting: 595},
        "COMPRESSION_ENABLED": False,
        "COOKIES_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, home: str, target: str) -> None:
        super().__init__()
        self.target = target
        self.start_urls = [f"{home}/"]
        self._links = LinkExtractor(
            allow_domains=[urlsplit(home).netloc],
            tags=("a", "link", "script", "img"),
            attrs=("href", "src"),
            deny_extensions=[],
        )

    def parse(self, response: Any) -> Any:
        """Request what a page or a style sheet names; Scrapy drops addresses that it has seen."""
        kind = response.headers.get("Content-Type", b"")
        if kind.startswith(b"text/html"):
            for link in self._links.extract_links(response):
                yield scrapy.Request(link.url, self.parse)
        elif kind.startswith(b"text/css"):
            for found in _IN_STYLES.findall(response.body):
                yield scrapy.Request(urljoin(response.url, found.decode()), self.parse)
