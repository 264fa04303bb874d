"""Thumbnails of real pictures, harmless and hostile, made by the real processes."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import pytest
from PIL import Image, ImageCms

from exporter import lossless_json
from exporter import site as options
from exporter.archive.layout import Layout
from exporter.model.asset import asset_path
from exporter.model.kinds import Kind
from exporter.site import thumbnails
from exporter.site.thumbnail_maker import reduced
from exporter.site.thumbnails import Thumbnails
from exporter.worker import Worker
from tests.cli.conftest import Program
from tests.site.building import of_records, stored

FAST: Final[dict[str, dict[str, Any]]] = {"PNG": {"compress_level": 1}}
TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WEBP": "image/webp", "BMP": "image/bmp"}


def photo(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Draw a picture that compresses like a photo."""
    bands = [Image.effect_noise((width // 8, height // 8), 60).resize((width, height)) for _ in range(3)]
    return Image.merge("RGB", bands).convert(mode)


def encoded(picture: Image.Image, form: str = "JPEG", **given: Any) -> bytes:
    into = io.BytesIO()
    picture.save(into, form, **given)
    return into.getvalue()


class Made(NamedTuple):
    """The result of a process for a picture."""

    width: int
    height: int
    thumbnail: bytes


def worker(process: Worker, *pictures: bytes) -> list[Made]:
    """Let a process reduce pictures; it makes what this one makes."""
    found = [Made(*process.call(thumbnails._REDUCE, data)) for data in pictures]
    with patch.object(Image, "MAX_IMAGE_PIXELS", Image.MAX_IMAGE_PIXELS):
        assert found == list(map(reduced, pictures))
    return found


def bomb(width: int, height: int) -> bytes:
    """Write a PNG of one colour in as few bytes as possible."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    packer = zlib.compressobj(9)
    line = bytes(1 + (width + 7) // 8)
    pixels = b"".join(packer.compress(line) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def process() -> Iterator[Worker]:
    """One process, as the site has it."""
    with Worker(memory=thumbnails._WORKER_BYTES) as started:
        yield started


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the site start its own processes."""
    monkeypatch.setattr(thumbnails, "Worker", Worker)


class TestWhatIsMade:
    def test_a_photo_is_reduced(self, process: Worker) -> None:
        (made,) = worker(process, encoded(photo(2400, 1600), quality=90))
        assert made[:2] == (2400, 1600)
        with Image.open(io.BytesIO(made.thumbnail)) as thumbnail:
            assert (thumbnail.format, thumbnail.size) == ("WEBP", (960, 640))

    def test_a_turned_photo_is_upright(self, process: Worker) -> None:
        picture = photo(1800, 1200)
        picture.paste((255, 0, 0), (0, 0, 300, 300))
        exif = Image.Exif()
        stored = []
        for orientation in range(1, 9):
            exif[0x0112] = orientation
            stored.append(encoded(picture, quality=90, exif=exif))
        shown = worker(process, *stored)
        assert [made[:2] for made in shown] == [(1800, 1200)] * 4 + [(1200, 1800)] * 4
        # By EXIF, the stored picture's first row and column are shown at this corner, counted from the upper left.
        assert [self.red_corners(made.thumbnail) for made in shown] == [{0}, {1}, {2}, {3}, {0}, {1}, {2}, {3}]

    @staticmethod
    def red_corners(data: bytes) -> set[int]:
        with Image.open(io.BytesIO(data)) as found:
            picture = found.convert("RGB")
        corners = [(40, 40), (-40, 40), (-40, -40), (40, -40)]
        pixels: list[Any] = [picture.getpixel((x % picture.width, y % picture.height)) for x, y in corners]
        return {at for at, (red, green, _) in enumerate(pixels) if red > 200 and green < 60}

    def test_it_has_no_personal_metadata(self, process: Worker) -> None:
        exif = Image.Exif()
        exif[0x010F] = "KAMERA OF A PERSON"
        data = encoded(
            photo(1800, 1200), quality=90, exif=exif, xmp=b"<x:xmpmeta>SECRET PLACE</x:xmpmeta>", comment=b"NAME"
        )
        (made,) = worker(process, data)
        assert made.thumbnail
        assert not any(word in made.thumbnail for word in (b"KAMERA", b"SECRET", b"NAME"))

    def test_transparency_is_kept(self, process: Worker) -> None:
        picture = photo(1800, 1200, "RGBA")
        picture.putalpha(Image.linear_gradient("L").resize(picture.size))
        (made,) = worker(process, encoded(picture, "PNG", compress_level=1))
        with Image.open(io.BytesIO(made.thumbnail)) as thumbnail:
            assert thumbnail.mode == "RGBA"

    def test_a_colour_profile_is_kept(self, process: Worker) -> None:
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        (made,) = worker(process, encoded(photo(1800, 1200), quality=90, icc_profile=profile))
        with Image.open(io.BytesIO(made.thumbnail)) as thumbnail:
            assert thumbnail.info["icc_profile"] == profile

    @pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
    @pytest.mark.parametrize("form", ["PNG", pytest.param("BMP", marks=pytest.mark.thorough)])
    def test_every_usual_form_of_pixels(self, process: Worker, mode: str, form: str) -> None:
        (made,) = worker(process, encoded(photo(1600, 1200, mode), form, **FAST.get(form, {})))
        assert made[:2] == (1600, 1200)
        assert made.thumbnail or mode == "1"


def shapes() -> dict[str, tuple[bytes, tuple[int, int]]]:
    """Pictures that are shown without a thumbnail, and the known size of each."""
    film = [Image.effect_noise((1200, 900), 60) for _ in range(2)]
    large = encoded(photo(1800, 1200), quality=90)
    gray = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return {
        "light": (encoded(photo(800, 600), quality=60), (800, 600)),
        "as small as its thumbnail": (encoded(photo(2400, 1600), quality=3), (2400, 1600)),
        "GIF that moves": (encoded(film[0], "GIF", save_all=True, append_images=film[1:]), (1200, 900)),
        "WebP that moves": (encoded(film[0], "WEBP", save_all=True, append_images=film[1:]), (1200, 900)),
        "PNG that moves": (encoded(film[0], "PNG", save_all=True, append_images=film[1:]), (1200, 900)),
        "CMYK": (encoded(photo(1800, 1200).convert("CMYK"), quality=90), (1800, 1200)),
        "16 bits": (encoded(photo(1800, 1200).convert("I;16"), "PNG"), (1800, 1200)),
        "gray with a profile of colours": (encoded(photo(1800, 1200, "L"), quality=95, icc_profile=gray), (1800, 1200)),
        "a profile of megabytes": (encoded(photo(1800, 1200), quality=90, icc_profile=gray + bytes(1 << 20)), (1800, 1200)),
        "many pixels": (encoded(Image.new("L", (5200, 5200)), "PNG", compress_level=1), (5200, 5200)),
        "many pixels, progressive": (encoded(Image.new("L", (4200, 4200)), progressive=True), (4200, 4200)),
        "very many pixels": (bomb(11_000, 11_000), (11_000, 11_000)),
        "bomb": (bomb(40_000, 20_000), (0, 0)),
        "half": (large[: len(large) // 2], (0, 0)),
        "head": (large[:200], (0, 0)),
        "SVG": (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>' * 4000, (0, 0)),
        "TIFF": (encoded(photo(1800, 1200), "TIFF"), (0, 0)),
        "PostScript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 900 900\n" + b"x" * 200_000, (0, 0)),
        "noise": (bytes(range(256)) * 1000, (0, 0)),
        "nothing": (b"", (0, 0)),
    }  # fmt: skip


def test_pictures_without_a_thumbnail_are_shown_themselves(process: Worker) -> None:
    known = shapes()
    found = worker(process, *(data for data, _ in known.values()))
    assert {name: made for name, made in zip(known, found, strict=True) if made.thumbnail} == {}
    # A broken picture has no known size except in its record.
    assert {name: made[:2] for name, made in zip(known, found, strict=True)} == {
        name: size for name, (_, size) in known.items()
    }


@pytest.mark.thorough
def test_no_picture_takes_much_memory() -> None:
    hostile = [data for data, _ in shapes().values()]
    hostile += [
        encoded(Image.new("RGBA", (3500, 3500)), "PNG", compress_level=1),
        encoded(Image.new("L", (8000, 8000))),
    ]
    with Worker(memory=thumbnails._WORKER_BYTES) as process:
        for data in hostile:
            process.call(thumbnails._REDUCE, data)
        peak = re.search("VmHWM:\\s*([0-9]+) kB", process.call(_status))
    assert peak is not None
    assert int(peak[1]) < 150_000


def _status() -> str:
    return Path("/proc/self/status").read_text()


class Blog:
    """Stored pictures, and their thumbnails over several runs."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        Path(self.layout.work).mkdir(parents=True)
        self.site = root / "latest" / "site"
        self.paths: list[str] = []

    def add(self, data: bytes, form: str = "JPEG") -> str:
        path = asset_path(hashlib.sha256(data).hexdigest(), TYPES[form])
        place = Path(self.layout.root) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        self.paths.append(path)
        return path

    def make(self) -> Thumbnails:
        made = Thumbnails(self.layout, keeps=True)
        for file in made.files(self.paths):
            place = self.site / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.render())
        return made


@pytest.fixture
def blog(tmp_path: Path) -> Blog:
    return Blog(tmp_path / "a")


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After a call, no process may read a picture."""

    def forbid() -> None:
        monkeypatch.setattr(thumbnails, "processors", lambda: pytest.fail("a process was started"))

    return forbid


class TestSites:
    def test_each_thumbnail_is_made_once(self, blog: Blog, unread: Callable[[], None]) -> None:
        large = blog.add(encoded(photo(1800, 1200), quality=90))
        light = blog.add(encoded(photo(300, 200)))
        broken = blog.add(b"\xff\xd8\xff\xe0" + bytes(200_000))
        blog.paths.append(large)
        first = blog.make()
        assert [first.of(path)[:2] for path in (large, light, broken)] == [(1800, 1200), (300, 200), (0, 0)]
        assert [bool(first.of(path).thumbnail) for path in (large, light, broken)] == [True, False, False]
        (file,) = (each for each in blog.site.rglob("*") if each.is_file())
        assert file.relative_to(blog.site).as_posix() == Thumbnails.place(large)
        unread()
        again = Thumbnails(blog.layout, keeps=True)
        (kept,) = again.files(blog.paths)
        assert kept.render() == file.read_bytes()
        assert again.of(large) == first.of(large)

    def test_a_new_picture_costs_one_thumbnail(self, blog: Blog) -> None:
        old = blog.add(encoded(photo(1800, 1200), quality=90))
        first = blog.make().of(old)
        Path(blog.layout.root, old).write_bytes(b"no longer what it was")
        new = blog.add(encoded(photo(1200, 1800), quality=90))
        made = blog.make()
        assert made.of(old) == first
        assert made.of(new).thumbnail

    @pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x")])
    def test_a_damaged_one_is_made_again(self, blog: Blog, damage: Callable[[Path], None]) -> None:
        path = blog.add(encoded(photo(1800, 1200), quality=90))
        blog.make()
        file = blog.site / Thumbnails.place(path)
        before = file.read_bytes()
        damage(file)
        blog.make()
        assert file.read_bytes() == before

    def test_a_picture_that_is_not_as_stored_has_none(self, blog: Blog) -> None:
        path = blog.add(encoded(photo(1800, 1200), quality=90))
        Path(blog.layout.root, path).write_bytes(encoded(photo(1500, 1500), quality=90))
        assert blog.make().of(path) == (0, 0, "")

    @pytest.mark.parametrize(
        "notes",
        [
            b"", b"another recipe\n", b"thumbnails 1\n[]\n{\n[1,2,3,4]\n", b'thumbnails 1\n["../../x",1,1,"../../x"]\n',
            b'thumbnails 1\n["DIGEST",1%b,1,""]\n' % (b"0" * 400), b'thumbnails 1\n["DIGEST",1,-1,""]\n',
        ],
    )  # fmt: skip
    def test_invalid_notes_are_ignored(self, blog: Blog, notes: bytes) -> None:
        path = blog.add(encoded(photo(1800, 1200), quality=90))
        Path(blog.layout.site_pictures).write_bytes(notes.replace(b"DIGEST", Path(path).stem.encode()))
        assert blog.make().of(path).thumbnail

    @pytest.mark.thorough
    @pytest.mark.usefixtures("processes")
    def test_a_process_that_dies_costs_one_picture(self, blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
        paths = [blog.add(encoded(photo(1800, 1200), quality=90)) for _ in range(4)]
        monkeypatch.setattr(thumbnails, "processors", lambda: 1)
        real, asked = subprocess.Popen, []

        class Frail(real):  # type: ignore[misc,valid-type]
            def __init__(self, command: list[str], **given: Any) -> None:
                asked.append(command)
                super().__init__([sys.executable, "-c", ""] if len(asked) == 1 else command, **given)

        monkeypatch.setattr(subprocess, "Popen", Frail)
        made = blog.make()
        assert [bool(made.of(path).thumbnail) for path in paths] == [False, True, True, True]

    @pytest.mark.usefixtures("processes")
    def test_without_a_process_the_next_refresh_makes_it(self, blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
        path = blog.add(encoded(photo(1800, 1200), quality=90))

        def refused(*_: object, **__: object) -> None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", refused)
            made = blog.make()
        assert (made.of(path), made.unmade) == ((0, 0, ""), 1)
        made = blog.make()
        assert (made.of(path)[:2], bool(made.of(path).thumbnail), made.unmade) == ((1800, 1200), True, 0)

    @pytest.mark.thorough
    @pytest.mark.usefixtures("processes")
    def test_a_slow_process_is_killed(self, blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
        path = blog.add(encoded(photo(1800, 1200), quality=90))
        monkeypatch.setattr(thumbnails, "_PICTURE_SECONDS", 0.0)
        assert blog.make().of(path) == (0, 0, "")

    def test_the_command_says_that_pillow_is_missing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program
    ) -> None:
        root = tmp_path / "blog"
        data = encoded(photo(1800, 1200), quality=90)
        address = "https://pictures.example.jp/1.jpg"
        root.mkdir()
        asset = stored(root, address, data, refs=[{"entry": "1"}])
        entry = {"entry_id": "1", "title": "海", "entry_text": f'<img src="{address}">'}
        of_records(
            root,
            {
                Kind.ENTRIES: {"1": lossless_json.dumps(entry)},
                Kind.ASSETS: {address: lossless_json.dumps(asset.data())},
            },
        )
        page = root / "latest" / "site" / "entry" / "1.html"
        for missing in (True, False):
            with monkeypatch.context() as patch:
                if missing:
                    patch.setitem(sys.modules, "PIL", None)
                done = program("site", root)
            assert done.code == 0
            assert ("blog-exporter[site]" in done.err) == missing
            assert ("thumbnails/" in page.read_text("utf-8")) != missing
        copy = tmp_path / "copy"
        assert program("site", root, copy).code == 0
        (thumbnail,) = (copy / "thumbnails").rglob("*.webp")
        assert thumbnail.read_bytes() == (root / "latest" / "site" / thumbnail.relative_to(copy)).read_bytes()
        assert f'src="../{thumbnail.relative_to(copy).as_posix()}"' in (copy / "entry" / "1.html").read_text("utf-8")

    def test_without_pillow_there_are_none(self, blog: Blog, monkeypatch: pytest.MonkeyPatch) -> None:
        path = blog.add(encoded(photo(1800, 1200), quality=90))
        monkeypatch.setattr(options, "find_spec", lambda _: None)
        monkeypatch.setattr(thumbnails, "has_pillow", options.has_pillow)
        assert list(Thumbnails(blog.layout, keeps=True).files([path])) == []
        assert not Path(blog.layout.site_pictures).exists()
