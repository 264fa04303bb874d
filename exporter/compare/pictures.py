"""The pictures of one post against those of its new home: fetching, decoding and comparing them.

Two pictures are the same if their bytes are, or if one may be a resized or recompressed copy of the other. A copy has
the same aspect ratio, up to the pixel that rounding costs the smaller one, and the same brightness in each cell of a
small grid. It may be turned by a right angle, as WordPress turns photos that a camera held upright. A picture that does
not decode is broken.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from typing import BinaryIO, Final, NamedTuple, Self, cast
from urllib.parse import unquote, urlsplit

from exporter.compare.posts import Difference, Fault, Picture, PictureFacts, PictureLook, Scope
from exporter.crawl.assets.file_check import dimensions, sniff
from exporter.errors import NotPublic, ServiceError
from exporter.html.links import host_of, meaning
from exporter.http.engine import Downloader
from exporter.message import message, said

_RESIZED: Final = re.compile(r"-(?:[0-9]{1,5}x[0-9]{1,5}|scaled|rotated|e[0-9]{10,13}|[0-9]{1,3})(?=\.[a-z0-9]+$)")
"""The suffixes that WordPress adds to names of copies, and to names that already exist."""
_MIN_COPY_PIXELS: Final = 600
_MIN_COPY_SHARE: Final = 0.25
"""The minimum length of a copy's longer side, in pixels or as a share of the original's, to be recognisable."""
_MAX_REQUESTS: Final = 12
_MEMORY_BYTES: Final = 1024 * 1024
"""Larger pictures go to a temporary file until they are decoded."""
_HEAD_BYTES: Final = 256 * 1024
"""The number of bytes at a file's beginning that are searched for its size in pixels."""
_GONE: Final = frozenset({404, 410})
GRID_CELLS: Final = 16
"""Cells in a row and in a column of the grid."""
_DECODED_PIXELS: Final = 100_000_000
_GRID_DIFFERENCE: Final = 4.0
"""Pictures differ if their grids differ by more than this on average (0 to 255). Copies differ by less than 1."""

OldLook = Callable[[Picture], PictureLook]


class ComparedPictures(NamedTuple):
    """The differences, the number of pictures that could not be compared, and the reason for the first of them."""

    differences: list[Difference]
    unknown: int = 0
    why: str = ""


def compare_pictures(
    olds: Sequence[Picture], news: Sequence[str], facts: Mapping[str, PictureFacts], scope: Scope
) -> ComparedPictures:
    """Pair pictures by their bytes, their names and their order, and compare them.

    Args:
        olds: the pictures of the archived post that the archive has.
        news: the addresses of the pictures that the new post shows.
        facts: the pictures at these addresses.
        scope: the hosts that disappear, and the looks of archived pictures.
    """
    shown = dict.fromkeys(news)
    still = [address for address in shown if host_of(address) in scope.old_hosts]
    differences = [Difference(Fault.PICTURE_ON_OLD_HOST, "", address) for address in still]
    as_before = {meaning(address) for address in still}
    wanted = [picture for picture in olds if meaning(picture.address) not in as_before]
    there = [address for address in shown if address not in still]
    pairs = _pairs(wanted, there, facts)
    unknown, why = 0, ""
    for at, picture in enumerate(wanted):
        if at not in pairs:
            differences.append(Difference(Fault.PICTURE_MISSING, picture.address))
            continue
        address = pairs[at]
        found = facts.get(address, PictureFacts(unknown=message("it was not requested")))
        if found.gone:
            differences.append(Difference(Fault.PICTURE_MISSING, picture.address, f"{address} ({found.gone})"))
        elif found.unknown or found.sha256 is None:
            unknown, why = unknown + 1, why or found.unknown
        elif not same_picture(picture, found) or (found.look is not None and found.look.broken):
            differences.append(
                Difference(Fault.PICTURE_CHANGED, _described(picture, picture.address), _described(found, address))
            )
        elif scope.old_look is not None and picture.sha256 != found.sha256:
            unseen = _unseen(picture, found, scope.old_look)
            if unseen is None:
                after = message("{address} (another picture)", address=address)
                differences.append(Difference(Fault.PICTURE_CHANGED, _described(picture, picture.address), after))
            elif unseen:
                unknown, why = unknown + 1, why or unseen
    return ComparedPictures(differences, unknown, why)


def _unseen(old: Picture, new: PictureFacts, old_look: OldLook) -> str | None:
    """Return why two looks could not be compared, empty if they are the same, ``None`` if they differ."""
    there = new.look or PictureLook(unknown=message("it was not decoded"))
    here = PictureLook() if there.unknown else old_look(old)
    unknown = there.unknown or here.unknown or here.broken
    if unknown:
        return unknown
    return "" if same_look(here.light, there.light) else None


def same_picture(old: Picture, new: PictureFacts) -> bool:
    """Return whether a picture is the old one, or may be a resized or recompressed copy of it."""
    if old.sha256 == new.sha256:
        return True
    if not (old.width and old.height and new.width and new.height):
        return False
    if max(new.width, new.height) < min(_MIN_COPY_PIXELS, max(old.width, old.height) * _MIN_COPY_SHARE):
        return False
    turned = (new.height, new.width)
    return any(_same_ratio(old.width, old.height, *sides) for sides in ((new.width, new.height), turned))


def _same_ratio(width: int, height: int, new_width: int, new_height: int) -> bool:
    # Because of rounding, the copy's height and width are each off by less than one pixel.
    return min(abs(new_width * height / width - new_height), abs(new_height * width / height - new_width)) <= 1.0


def _pairs(olds: Sequence[Picture], news: Sequence[str], facts: Mapping[str, PictureFacts]) -> dict[int, str]:
    pairs: dict[int, str] = {}
    free = dict.fromkeys(news)
    tests: list[Callable[[Picture, str], bool]] = [
        lambda old, new: new in facts and facts[new].sha256 == old.sha256,
        lambda old, new: _file(new) in {old.name, _file(old.address)} - {""},
        lambda old, new: _RESIZED.sub("", _file(new)) in {old.name, _file(old.address)} - {""},
        lambda old, new: new in facts and bool(facts[new].sha256) and same_picture(old, facts[new]),
        lambda _old, _new: True,
    ]
    for test in tests:
        for at, old in enumerate(olds):
            if at not in pairs and free:
                fitting = next((new for new in free if test(old, new)), None)
                if fitting is not None:
                    pairs[at] = fitting
                    del free[fitting]
    return pairs


def _file(address: str) -> str:
    return unquote(urlsplit(address).path.rpartition("/")[2]).lower()


def _described(size: Picture | PictureFacts, address: str) -> str:
    return f"{address} ({size.width}x{size.height})" if size.width and size.height else address


def look_of(file: BinaryIO) -> PictureLook:
    """Decode a picture, or the first frame if it is animated, and return its look.

    Pictures of more than 100 million pixels are not decoded.
    """
    try:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - an extra
    except ImportError:
        return PictureLook(unknown=message("Pillow is not installed: pip install 'blog-exporter[site]'"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(file) as image:
                if image.width * image.height > _DECODED_PIXELS:
                    return PictureLook(unknown=message("it has too many pixels"))
                image.draft("L", (GRID_CELLS * 8, GRID_CELLS * 8))
                image.load()
                plain = image.convert("RGBA") if "transparency" in image.info or image.mode == "RGBA" else image
                if plain.mode == "RGBA":
                    ground = Image.new("RGBA", plain.size, "white")
                    plain = Image.alpha_composite(ground, plain)
                grid = plain.convert("L").resize((GRID_CELLS, GRID_CELLS), Image.Resampling.BOX)
                return PictureLook(grid.tobytes())
        except UnidentifiedImageError:
            return PictureLook(unknown=message("its format is not known here"))
        except (OSError, SyntaxError, EOFError) as error:
            return PictureLook(broken=str(error))
        except Exception as error:  # noqa: BLE001 - decoders of hostile files raise anything
            return PictureLook(unknown=type(error).__name__)


def same_look(one: bytes, other: bytes) -> bool:
    """Return whether two grids belong to copies of the same picture, perhaps rotated by 90, 180 or 270 degrees."""
    return any(_distance(turned, other) <= _GRID_DIFFERENCE for turned in _turns(one))


def _turns(light: bytes) -> list[bytes]:
    found = [light]
    for _ in range(3):
        last = found[-1]
        found.append(
            bytes(last[(GRID_CELLS - 1 - x) * GRID_CELLS + y] for y in range(GRID_CELLS) for x in range(GRID_CELLS))
        )
    return found


def _distance(one: bytes, other: bytes) -> float:
    """Return the mean difference of two grids once their mean light is the same."""
    shift = (sum(one) - sum(other)) / len(one)
    return sum(abs(a - b - shift) for a, b in zip(one, other, strict=True)) / len(one) + abs(shift) / 4


class PictureReader:
    """Reads each picture once, without credentials, hashes and measures it, and keeps nothing.

    Args:
        downloader: sends the requests; its guard refuses private addresses.
        progress: called with the number of pictures read.
    """

    def __init__(self, downloader: Downloader, progress: Callable[[int], None]) -> None:
        self._downloader = downloader
        self._progress = progress

    async def read(self, addresses: Sequence[str], held: Container[str] = frozenset()) -> Mapping[str, PictureFacts]:
        """Return the pictures by address; a failed request is a result here.

        Args:
            addresses: of the pictures.
            held: the SHA-256 of pictures that need no decoding, because the archive has the same bytes.
        """
        found: dict[str, PictureFacts] = {}

        async def look(address: str) -> None:
            found[address] = await self._one(address, held)
            self._progress(len(found))

        await each_of(addresses, look)
        return found

    async def _one(self, address: str, held: Container[str]) -> PictureFacts:
        with SpooledSink() as sink:
            return await self._read(address, sink, held)

    async def _read(self, address: str, sink: SpooledSink, held: Container[str]) -> PictureFacts:
        try:
            answer = await self._downloader.read(address, sink)
        except NotPublic:
            return PictureFacts(unknown=message("its address is private: requests need --allow-private-network"))
        except ServiceError as error:
            return PictureFacts(unknown=said(error))
        if answer.status in _GONE:
            return PictureFacts(gone=str(answer.status))
        if answer.status != 200:
            return PictureFacts(unknown=message("it answers {status}", status=answer.status))
        return await asyncio.to_thread(measured, sink.file, held)


async def each_of(addresses: Sequence[str], work: Callable[[str], Awaitable[None]]) -> None:
    """Do some work once for each address, several at a time."""
    waiting = iter(dict.fromkeys(addresses))

    async def worker() -> None:
        for address in waiting:
            await work(address)

    async with asyncio.TaskGroup() as group:
        for _ in range(_MAX_REQUESTS):
            group.create_task(worker())


def measured(file: BinaryIO, held: Container[str]) -> PictureFacts:
    """Measure the picture in a file, without its look if ``held`` contains its SHA-256."""
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    kind = sniff(head)
    if not kind.startswith("image/"):
        return PictureFacts(gone=message("no picture") if head else message("an empty file"))
    file.seek(0)
    sha256 = hashlib.file_digest(cast("io.BytesIO", file), "sha256").hexdigest()
    width, height = dimensions(io.BytesIO(head), kind) or (None, None)
    file.seek(0)
    return PictureFacts(sha256, width, height, look=None if sha256 in held else look_of(file))


class SpooledSink:
    """Keeps a download, see :class:`~exporter.http.body.Sink`; use it in ``with``. A download cannot be resumed.

    Attributes:
        file: the download; a large one is an unnamed temporary file.
    """

    def __init__(self) -> None:
        self.size = 0
        self.file = cast("BinaryIO", tempfile.SpooledTemporaryFile(_MEMORY_BYTES))  # noqa: SIM115 - see __exit__
        self.validator: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def restart(self, validator: str | None, length: int | None) -> None:  # noqa: ARG002 - nothing is resumed
        """Begin again."""
        self.size = 0
        self.file.seek(0)
        self.file.truncate()

    def write(self, data: bytes) -> None:
        """Take bytes."""
        self.size += len(data)
        self.file.write(data)
