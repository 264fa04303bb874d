"""What counts as a picture of a blog: the one rule for every number of pictures. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from exporter.html.service_habits import is_emoji
from exporter.model.asset import Asset

_MIN_PIXELS: Final = 48
"""Narrower images are icons and counters."""


def is_image(asset: Asset) -> bool:
    """Return whether the bytes of a saved file are an image."""
    return asset.sha256 is not None and (asset.content_type or "").startswith("image/")


def blog_pictures(assets: Iterable[Asset]) -> Iterator[list[Asset]]:
    """Yield each picture of a blog, as its saved files.

    A picture is a saved image, once for each content: addresses with the same bytes are one picture, and so are a
    thumbnail and its original. Emoji of services and images below 48 pixels are not pictures.

    Args:
        assets: all records, in any order.

    Yields:
        the files with the best one first: the original, or else the first. Groups are in the order of their first file.
    """
    images = {asset.url: asset for asset in assets if is_image(asset) and not is_emoji(asset.url)}
    originals = {
        images[asset.original_of].sha256: asset.sha256
        for asset in images.values()
        if asset.original_of is not None and asset.original_of in images
    }
    groups: defaultdict[str | None, list[Asset]] = defaultdict(list)
    for asset in images.values():
        groups[originals.get(asset.sha256, asset.sha256)].append(asset)
    for digest, group in groups.items():
        group.sort(key=lambda asset: asset.sha256 != digest)
        if group[0].width is None or group[0].width >= _MIN_PIXELS:
            yield group
