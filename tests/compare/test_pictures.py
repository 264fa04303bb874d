"""Pictures match by their bytes or aspect ratio, and missing pictures and those still on the old host are named."""

from __future__ import annotations

import pytest

from exporter.compare.pictures import compare_pictures, same_picture
from exporter.compare.posts import Fault, Picture, PictureFacts, Scope

OLD = frozenset({"files.example.jp"})
NEW = "https://new.example/media/"


def picture(name: str, width: int | None = 400, height: int | None = 300) -> Picture:
    return Picture(f"https://files.example.jp/{name}", f"sha-{name}", width, height, f"{name}-0011.png")


def faults(olds: list[Picture], facts: dict[str, PictureFacts]) -> list[Fault]:
    found = compare_pictures(olds, list(facts), facts, Scope(old_hosts=OLD))
    assert found.unknown == sum(bool(each.unknown) for each in facts.values())
    return [each.change for each in found.differences]


@pytest.mark.parametrize(
    ("size", "same"),
    [
        ((400, 300), True),
        ((200, 150), True),
        ((133, 100), True),
        ((1024, 768), True),
        ((300, 400), True),  # rotated according to the EXIF orientation
        ((300, 300), False),
        ((400, 290), False),
        ((None, None), False),
    ],
)
def test_a_resized_copy_is_the_same(size: tuple[int | None, int | None], same: bool) -> None:
    assert same_picture(picture("a"), PictureFacts("other", *size)) is same
    assert same_picture(picture("a", None, None), PictureFacts("sha-a")) is True


def test_pictures_find_each_other_by_bytes_and_names_before_their_order() -> None:
    facts = {
        f"{NEW}b-0011-150x150.png": PictureFacts("cropped", 150, 150),
        f"{NEW}c-0011.png": PictureFacts(gone="404"),
        f"{NEW}x.png": PictureFacts("sha-a", 1, 1),
    }
    found = compare_pictures([picture("a"), picture("b"), picture("c")], list(facts), facts, Scope(old_hosts=OLD))
    assert [(each.change, each.before.rpartition("/")[2].partition(" ")[0]) for each in found.differences] == [
        (Fault.PICTURE_CHANGED, "b"),
        (Fault.PICTURE_MISSING, "c"),
    ]


def test_a_picture_that_is_not_shown_is_missing_and_more_are_no_fault() -> None:
    assert faults([picture("a"), picture("b")], {f"{NEW}1": PictureFacts("sha-b")}) == [Fault.PICTURE_MISSING]
    assert faults([picture("a")], {f"{NEW}1": PictureFacts("sha-a"), f"{NEW}2": PictureFacts("z", 9, 9)}) == []


def test_a_picture_still_on_the_old_host_is_named_once() -> None:
    assert faults([picture("a")], {"http://files.example.jp/a": PictureFacts()}) == [Fault.PICTURE_ON_OLD_HOST]


def test_pictures_that_could_not_be_checked_are_counted_and_no_fault() -> None:
    assert faults([picture("a")], {f"{NEW}1": PictureFacts(unknown="it answers 503")}) == []
    assert compare_pictures([picture("a")], [f"{NEW}1"], {}, Scope(old_hosts=OLD)).unknown == 1
