"""What is said between the site and a process that makes thumbnails; alone, so that this process loads little else.

It is told a length in four bytes and the picture; what it says is three numbers of four bytes, the width and height
that the picture is shown with and the length of its thumbnail, and then that. Numbers are big-endian.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

REQUEST: Final = struct.Struct(">I")
ANSWER: Final = struct.Struct(">III")


class Made(NamedTuple):
    """The width and height that a picture is shown with, and its thumbnail.

    The numbers are 0 where they are not known, and the thumbnail is empty where the picture is to stand itself.
    """

    width: int
    height: int
    thumbnail: bytes
