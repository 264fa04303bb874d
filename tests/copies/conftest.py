"""Archives to copy: five versions with odd records, pictures and runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from tests.archive.builder import Built, entry, five_versions, record
from tests.copies.s3_servers import Service, moto
from tests.support.local_worker import LocalWorker

PICTURES = [b"a picture", b"another picture" * 1000]


def asset_name(data: bytes) -> str:
    """Return the path of a picture in an archive."""
    digest = hashlib.sha256(data).hexdigest()
    return f"assets/{digest[:2]}/{digest}.gif"


def add_pictures(built: Built, *pictures: bytes) -> None:
    """Add pictures to an archive, and a version that refers to them."""
    for data in pictures:
        path = built.root / asset_name(data)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    urls = {f"https://a.example/{hashlib.sha256(data).hexdigest()[:8]}.gif": data for data in pictures}
    built.commit(
        {
            Kind.ASSETS: {
                url: record(
                    url=url,
                    status=200,
                    content_type="image/gif",
                    bytes=len(data),
                    sha256=hashlib.sha256(data).hexdigest(),
                )
                for url, data in urls.items()
            }
        }
    )


@pytest.fixture(autouse=True)
def _pictures_are_reduced_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.site.thumbnails.Worker", LocalWorker)


@pytest.fixture(scope="session")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An archive of six versions, the newest with pictures; tests must not change it."""
    built = five_versions(tmp_path_factory.mktemp("sample") / "archive")
    add_pictures(built, *PICTURES)
    return built


@pytest.fixture(scope="session")
def sample(sampled: Built) -> Path:
    """The folder of that archive."""
    return sampled.root


@pytest.fixture
def source(sampled: Built, tmp_path: Path) -> Built:
    """A copy that the test may change."""
    return sampled.copied(tmp_path / "archive")


@pytest.fixture
def small(tmp_path: Path) -> Built:
    """An archive of one version with a picture, because each file takes a service several requests."""
    built = Built(tmp_path / "archive")
    add_pictures(built, PICTURES[0])
    return built


@pytest.fixture(scope="session")
def s3() -> Iterator[Service]:
    """One simulated service for all tests, which make buckets of their own."""
    with moto() as running:
        yield running


def grow(built: Built, text: str = "後") -> None:
    """Add a version."""
    number = len(built.states) + 100
    built.commit({Kind.ENTRIES: {str(number): entry(number, text)}})
