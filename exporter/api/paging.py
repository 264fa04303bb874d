"""Which page of a list to ask for next, when a list has ended, and whether all of it was seen. Pure.

A walk hands out pages with ``wanted``, is told of each in page order with ``accept`` or ``accept_failure``, and ends
whatever the service answers: by its last page, by an empty or repeated page, by pages without anything new, or by
``max_pages``.
"""

from __future__ import annotations

from exporter.api.chain_walk import ChainWalk
from exporter.api.file_walk import FileWalk
from exporter.api.walk import PageFacts, Walk
from exporter.model.assumptions import Assumptions

__all__ = ["ChainWalk", "FileWalk", "PageFacts", "Walk", "comment_walk", "entry_walk", "file_walk"]


def entry_walk(assume: Assumptions) -> ChainWalk:
    """Return a walk over the entry list, whose page size is unknown (API section 8)."""
    return ChainWalk("entry list", "entry_list_page_param", assume.max_pages)


def comment_walk(assume: Assumptions) -> ChainWalk:
    """Return a walk over the comment list."""
    return ChainWalk("comment list", "comment_list_page_param", assume.max_pages, assume.comment_page_size)


def file_walk(assume: Assumptions) -> FileWalk:
    """Return a walk over the file list."""
    return FileWalk("file list", "file_list_page_param", assume.max_pages, assume.file_page_size)
