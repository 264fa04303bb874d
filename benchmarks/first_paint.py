"""The cost of opening an entry with many pictures, with and without thumbnails: ``python -m benchmarks.first_paint``.

A freshly started browser shows one entry with 40 photos of 12 megapixels: its beginning, then everything down to its
end. First and largest paint are measured at the beginning; the shift is the sum over the whole page (Layout
Instability API); bytes are those of the pictures. "As before" is the page without the sizes of its pictures.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from PIL import Image

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site.thumbnails import Thumbnails
from exporter.site.view import SiteView
from tests.site.browser.launching import chromium
from tests.site.building import of_records, stored

_PHOTOS: Final = 40
_ROUNDS: Final = 3
_WIDTHS: Final = {"phone": 375, "desk": 1280}
_SIZED: Final = re.compile(r'(<img [^>]*?) loading="lazy"|(?<=\d") height="\d+"| width="\d+"')
_WATCH: Final = """
window.shift = 0; window.largest = 0;
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.shift += each.value; })
  .observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => { for (const each of list.getEntries()) window.largest = each.startTime; })
  .observe({ type: "largest-contentful-paint", buffered: true });
"""
_DOWN: Final = """async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0];
  while (!painted() || !window.largest) await new Promise(requestAnimationFrame);
  const beginning = [painted().startTime, window.largest];
  for (let at = 0; at < document.documentElement.scrollHeight; at += innerHeight / 2) {
    scrollTo(0, at);
    const near = [...document.images].filter((image) => image.getBoundingClientRect().top < 2 * innerHeight);
    await Promise.all(near.filter((image) => !image.complete).map((image) => new Promise((done) => {
      image.onload = image.onerror = done;
    })));
    await new Promise(requestAnimationFrame);
  }
  return [...beginning, window.shift];
}"""


def main() -> None:
    """Build both sites, and print a table."""
    with TemporaryDirectory() as name:
        root = Path(name) / "archive"
        _blog(root)
        sites = {"as before": False, "originals": False, "thumbnails": True}
        pages = {
            site: _site(root, Path(name) / site.replace(" ", "-"), thumbnails=thumbs, bare=site == "as before")
            for site, thumbs in sites.items()
        }
        print(
            "| window | page | first paint ms | largest paint ms | layout shift | read MB |\n|---|---|---|---|---|---|"
        )
        for window, width in _WIDTHS.items():
            for site, page in pages.items():
                found = [_look(page, width) for _ in range(_ROUNDS)]
                first, largest, shift = (median(values) for values in zip(*found, strict=True))
                print(f"| {window} | {site} | {first:,.0f} | {largest:,.0f} | {shift:.3f} | {_read(page) / 1e6:,.1f} |")
                sys.stdout.flush()


def _blog(root: Path) -> None:
    noise = Image.effect_noise((500, 375), 50).resize((4000, 3000))
    tones = [noise.point([(value + 40 * turn) % 256 for value in range(256)]) for turn in range(3)]
    assets: dict[str, bytes | None] = {}
    body = []
    root.mkdir()
    for number in range(_PHOTOS):
        into = io.BytesIO()
        Image.merge("RGB", tones[number % 3 :] + tones[: number % 3]).rotate(number).save(into, "JPEG", quality=90)
        address = f"https://pictures.example.jp/{number}.jpg"
        asset = stored(root, address, into.getvalue(), refs=[{"entry": "1"}])
        assets[address] = lossless_json.dumps(asset.data())
        body.append(f'<p>写真 {number + 1} 枚目。海はきょうも青い。</p><p><img src="{address}"></p>')
    entry = {
        "entry_id": "1",
        "title": "写真の日",
        "entry_text": "".join(body),
        "year": "2026",
        "mon": "03",
        "day": "01",
    }
    of_records(root, {Kind.ENTRIES: {"1": lossless_json.dumps(entry)}, Kind.ASSETS: assets})


def _site(root: Path, folder: Path, *, thumbnails: bool, bare: bool) -> Path:
    """Write a site next to the archive, whose pictures it shows; return the entry's page."""
    archive = Archive.open(root)
    made = Thumbnails(archive.layout if thumbnails else None)
    state = archive.state()
    place = folder / "latest" / "site"
    for file in SiteView(DEFAULT_SERVICE, thumbnails=made).files(state):
        target = place / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.render())
    state.close()
    (folder / "assets").symlink_to(root / "assets")
    page = place / "entry" / "1.html"
    if bare:
        page.write_text(_SIZED.sub(r"\1", page.read_text("utf-8")), "utf-8")
    return page


def _look(page: Path, width: int) -> list[float]:
    with chromium(None) as browser:
        tab = browser.new_page(viewport={"width": width, "height": 800})
        tab.add_init_script(_WATCH)
        tab.goto(page.as_uri())
        found: list[float] = tab.evaluate(_DOWN)
        return found


def _read(page: Path) -> int:
    sources = re.findall(r'<img [^>]*?src="([^"]*)"', page.read_text("utf-8"))
    return sum((page.parent / source).resolve().stat().st_size for source in sources)


if __name__ == "__main__":
    main()
