"""The picture that the owner chose for a book's cover. Pure."""

from __future__ import annotations

from exporter.errors import NoSuchRecord, UsageError
from exporter.export.epub_chapter import EVERYWHERE, FOREIGN
from exporter.export.media import Media, PostPicture
from exporter.export.posts import Posts


def chosen_picture(posts: Posts, media: Media) -> PostPicture | None:
    """Return the picture that ``--cover`` names: by its address, or by the id of an entry that shows it first.

    Raises:
        NoSuchRecord: the export has no such entry or picture. A picture that only other entries show is not in it.
        UsageError: it is a kind of picture that not every reader shows.
    """
    wanted = posts.options.cover
    if not wanted:
        return None
    if "/" not in wanted:
        if wanted not in posts:
            raise NoSuchRecord("--cover {wanted}: no such entry is in this export.", wanted=wanted)
        found = next(filter(_is_picture, media.pictures(posts.post(wanted))), None)
        if found is None:
            raise NoSuchRecord("--cover {wanted}: the entry shows no saved picture.", wanted=wanted)
        return _checked(found, wanted)
    found = media.find(wanted)
    shown = found is not None and any(entry_id in posts for entry_id in found.asset.ids("entry"))
    if found is None or not shown or not _is_picture(found):
        raise NoSuchRecord("--cover {wanted}: no entry in this export shows that picture.", wanted=wanted)
    return _checked(found, wanted)


def _is_picture(picture: PostPicture) -> bool:
    return picture.source is not None and (picture.asset.content_type or "") in EVERYWHERE | FOREIGN


def _checked(picture: PostPicture, wanted: str) -> PostPicture:
    if picture.asset.content_type not in EVERYWHERE:
        raise UsageError(
            "--cover {wanted}: not every reader shows {kind}; choose a JPEG, PNG or GIF.",
            wanted=wanted,
            kind=picture.asset.content_type,
        )
    return picture
