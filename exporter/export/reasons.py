"""Why an export leaves a record out, refers to it, changes it or warns of it, as sentences for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from exporter.export.parts import Part
from exporter.export.targets import Matter
from exporter.message import Message, filled, message, message_template
from exporter.model.asset import Asset, AssetState
from exporter.model.publication import Cause, Hidden
from exporter.model.records import Lack

_KINDS: Final = {
    "entries": (message("entry"), message("entries")),
    "comments": (message("comment"), message("comments")),
    "pictures": (message("picture"), message("pictures")),
    "categories": (message("category"), message("categories")),
    "links": (message("link"), message("links")),
    "files": (message("picture or file"), message("pictures and files")),
}


class Reason(Enum):
    """Why a record is left out, referred to or changed; ``{value}`` and ``{field}`` are those of a :class:`Cause`.

    The name in small letters is the ``code`` in ``OUT.report.json``; the English text is its ``reason``.
    """

    # Entries that are left out.
    IN_PUBLIC = message_template("public, and so not among the private ones")
    IN_DRAFTS = message_template("a draft, and so not among the private ones")
    OTHER_CATEGORY = message_template("of another category")
    OTHER_TAG = message_template("without the tag")
    NO_DAY = message_template("without a date, and a span of dates was asked for")
    OTHER_DAY = message_template("outside of the dates asked for")
    NOT_READ = message_template("listed, but the archive has no full record of it")
    NOT_CAPTURED = message_template("no capture has its page; run capture, or add --rendered")
    NO_NEW_ADDRESS = message_template("lacks a field of the patterns, or shares its old address")
    # Comments and categories that are left out.
    ENTRIES_LEFT_OUT = message_template("its entries are left out")
    ENTRY_LEFT_OUT = message_template("its entry is not in this export")
    ENTRY_UNKNOWN = message_template("its entry is not in the archive")
    ROWS_OF_ENTRIES = message_template("the format has a row for each entry only")
    ADDRESSES_ONLY = message_template("redirects hold addresses only")
    COMMENTS_UNWANTED = message_template("only --comments body or sidecar writes them")
    AS_CAPTURED = message_template("the captured page shows those of its time; they are not written as records")
    NO_TEXT = message_template("without a text, and Blogger takes none such")
    # Pictures that are left out or referred to.
    NOT_SAVED = message_template("the archive does not have it")
    NOT_SAVED_YET = message_template("the archive does not have it yet; every backup tries again")
    GONE = message_template("it was gone before it could be saved")
    NO_PICTURES = message_template("the format has no place for pictures")
    NOT_SHOWN = message_template("the page shows it nowhere")
    OLD_ADDRESS = message_template("only its old address is written; --media-folder would bring the file along")
    NEW_ADDRESS = message_template("only its new address is written, below --media-base-url; put the file there")
    FETCHED = message_template("only its address is written, from where the target fetches the file")
    NOT_TAKEN = message_template("the new home does not take it")
    DELETED_THERE = message_template("deleted in the new home since it was moved")
    SHOWN_THERE = message_template("public in the new home, so nothing private is added to it")
    NO_PICTURE = message_template("a book holds pictures only; a link leads to its address")
    ACTIVE_FILE = message_template("a browser could run what is in it; its old address is linked to")
    # Changes in the export.
    DATE_MOVED = message_template("date moved by seconds, since another has its title and date")
    DATE_REPLACED = message_template("date impossible or missing, replaced by the nearest known")
    LINES_DEFUSED = message_template("lines defused that an importer would take for keys or separators")
    LINES_BROKEN = message_template("long lines broken")
    LEAD_MOVED = message_template("link text of the continuation written as its first line")
    KEPT_AS_HTML = message_template(
        "body, or a list in it, kept as HTML, since the generator would run or misread its Markdown"
    )
    ONLY_TEXT = message_template("too large to be shown with its markup: its text only")
    NOT_EMPTY = message_template("an empty comment added, since WordPress drops posts without texts")
    SCRIPTS_LEFT_OUT = message_template("scripts left out; where one is known to show something, there is a link to it")
    COMMANDS_DEFUSED = message_template("comments defused that WordPress obeys, such as <!--more-->")
    NOT_IN_IMPORTS = message_template("characters removed that no importer reads")
    NOT_IN_XML = message_template("characters removed that XML cannot hold")
    NOT_IN_XML_OF = message_template("characters removed from the {field} that XML cannot hold")
    NOT_IN_BOOKS = message_template("characters removed or replaced that XML cannot hold")
    NOT_IN_PAGES = message_template("characters replaced that a page or its feed cannot hold")
    NOT_IN_TEXT = message_template("characters replaced that a text file cannot hold")
    SURROGATES = message_template("lone surrogates replaced, which many readers of JSON refuse")
    NO_GLYPH = message_template("characters printed as a substitute mark, since no installed font has them")
    FOLDS_OPENED = message_template("folded parts written open, since a book cannot fold them")
    LINKS_DROPPED = message_template("links made plain text, since no e-reader follows such addresses")
    CATEGORY_CUT = message_template("category's name cut at the {value} characters WordPress holds")
    FOLDER_CUT = message_template("category's name cut to what a folder's name can hold")
    FORMULA = message_template("cells defused that a spreadsheet would calculate")
    CELL_CUT = message_template("text cut at the {value} characters a cell holds")
    TITLE_CUT = message_template("title cut at the {value} characters Ghost holds")
    TITLE_MADE = message_template("title made up, since Ghost wants one")
    TAG_WIDENED = message_template("tag's first character or < written full-width, since Ghost reads it otherwise")
    TAG_TAKEN = message_template("tag spelled differently, since Eleventy or its base blog uses its name")
    TERM_ADDRESS = message_template(
        "address of a category, tag or author spelled differently, since another one has it or no page can be there"
    )
    TITLE_WIDENED = message_template("title's \" or </title written full-width, since Pelican's themes would run it")
    TAG_CUT = message_template("tag cut at the {value} characters Ghost holds")
    LABEL_WIDENED = message_template("label's & < > @ ! written full-width, since Blogger allows none of them")
    LABEL_CUT = message_template("label cut at the {value} characters Blogger holds")
    NAME_MADE = message_template("name made up, since Blogger wants one")
    NAME_CUT = message_template("name cut at the {value} bytes WordPress holds")
    ADDRESS_CUT = message_template("address above {value} characters left out")
    NOT_HELD = message_template("written without {field}, which the format does not hold")
    ANSWERED_LEFT_OUT = message_template("answers a comment that is not in this export, and is written as a first one")
    CATEGORY_AS_TAG = message_template("second and further categories written as tags")
    EXCERPT_CUT = message_template("excerpt cut at the {value} characters Ghost holds")
    EMAIL_CUT = message_template("mail address above {value} characters left out")
    MAIL_LEFT_OUT = message_template("its writer's mail address left out by --without-addresses")
    # Facts that the API of WordPress cannot hold.
    NAME_GIVEN = message_template(
        "under another name in its address, which WordPress chose: the name was taken, too long or of digits alone"
    )
    PASSWORD_UNKNOWN = message_template("private, since the archive does not have the password that it was behind")
    MEMBERS_PRIVATE = message_template("private, since only members could see it")
    SCHEDULE_PASSED = message_template("a draft, since the date for which it was scheduled has passed or is near")
    AUTHOR_UNKNOWN = message_template("by an author who has no account of that name in the new home")
    PAGE_WITHOUT_TERMS = message_template("a page, for which WordPress has no categories and tags")
    FEATURED_LOST = message_template("without its featured picture, which is not in the new home")
    THREAD_BROKEN = message_template("answers a comment that is not moved, and so the entry")
    THREAD_LOOP = message_template("answers itself through others, and so the entry")
    PING_AS_COMMENT = message_template("a trackback or pingback, which WordPress' API takes as a comment only")
    # Known limits of targets that an entry meets.
    FEATURED_LATER = message_template("has its featured picture in a later file; set it by hand after the import")
    LEADS_OUT = message_template("links to entries that are not in this export")
    PICTURE_LOST = message_template("shows pictures that the archive does not have")
    CSV_ONLY = message_template("has an old address that only redirects.csv can hold")
    ADDRESS_UNUSED = message_template("has its old address in its front matter; a plugin or template must redirect it")
    NAME_OF_DIGITS = message_template(
        "has a name of digits alone, to which WordPress adds -2 where addresses have only the name (/%postname%/)"
    )
    NO_TITLE = message_template("without a title")
    NO_ADDRESS = message_template("without a whole address for Disqus, which --new-url gives")
    COMMENT_SHORT = message_template("has a comment under three characters, which Disqus does not take")
    TITLE_LONG = message_template("has a title above the {value} bytes WordPress holds")
    COMMENT_LONG = message_template("has a comment above the {value} bytes WordPress holds")
    ACTIVE = message_template("has scripts, frames or forms, which most services drop")
    SHORTCODE_LEFT = message_template("has the shortcode [{value}], which only the old blog can fill; it stays as text")
    BLOCK_EMPTY = message_template("has the block {value}, which only the old blog can fill; it shows nothing")
    PATTERN_MISSING = message_template("shows the synced pattern {value}, which the export file does not have")
    PATTERNS_LARGE = message_template("shows synced patterns more often than an entry may; the others are left out")
    PICTURES_MISSING = message_template("has a gallery with pictures that the export file does not have")
    RECORDINGS_MISSING = message_template("has a playlist with recordings that the export file does not have")
    FOOTNOTES_MISSING = message_template("has footnotes whose texts are missing or cannot be read")
    NAMES_AS_HTML = message_template(
        "has something like a tag or &amp; in its title or a name, written as HTML, which some services show as it is"
    )
    LINES_LONG = message_template("has lines longer than old importers read at once")
    TITLE_OVER = message_template("has a title above {value} characters, which may be cut")
    NOT_KEPT = message_template("has {field}, which {value} does not keep")
    NOT_SURE = message_template("has {field}, which {value} is not confirmed to keep")
    # Losses when the old blog closes, and records that remain only in the archive.
    LOST_UNLESS_FETCHED = message_template("lost with the old blog, unless fetched before by the import")
    LOST_WITH_THE_OLD = message_template("lost with the old blog, since only the old address is written")
    LOST_UNLESS_SAVED = message_template("lost with the old blog, unless saved before by a backup")
    LOST_ALREADY = message_template("gone already, and not in the archive")
    NOT_IN_ARCHIVE = message_template("never saved, by choice or since nothing is known of them")
    LINK_DEAD = message_template("to the old blog, dead once it closes")
    DRAFT_STAYS = message_template("not in this export, being drafts; kept by the archive")
    PRIVATE_STAYS = message_template("not in this export, being private; kept by the archive")
    CHOICE_STAYS = message_template("left out by --only, --since, --until, --category or --tag; kept by the archive")
    NOT_HELD_STAYS = message_template("not in this export, which cannot hold all of them; kept by the archive")
    HIDDEN_STAYS = message_template("not in this export, being hidden; kept by the archive")
    UNDECLARED_STAYS = message_template("not in this export, since nothing says whether they are shown (see inspect)")
    COMMENTS_OF_OTHERS = message_template("not in this export, as their entries are not; kept by the archive")
    COMMENTS_STAY = message_template("left out by --comments; kept by the archive")
    ADDRESS_GOES = message_template(
        "only the new address is in this export: put the files there, or add --media-folder"
    )
    NOT_SHOWN_STAYS = message_template("not in this export, whose entries show none of them; kept by the archive")
    FILE_LARGE = message_template("is larger than a file may be, and has one of its own")

    def at(self, value: int) -> Cause:
        """Return the reason with the limit that it names."""
        return Cause(self, value=f"{value:,}")


UNSHOWN: Final[Mapping[Lack, Reason]] = {
    Lack.SHORTCODE: Reason.SHORTCODE_LEFT,
    Lack.BLOCK: Reason.BLOCK_EMPTY,
    Lack.PATTERN: Reason.PATTERN_MISSING,
    Lack.PATTERNS_LARGE: Reason.PATTERNS_LARGE,
    Lack.PICTURES: Reason.PICTURES_MISSING,
    Lack.RECORDINGS: Reason.RECORDINGS_MISSING,
    Lack.NOTES: Reason.FOOTNOTES_MISSING,
}
"""Why an entry does not show everything that its readers saw."""
_MATTERS: Final[Mapping[str, Message]] = {
    Matter.COMMENTS: message("comments"),
    Matter.PICTURES: message("pictures"),
    Matter.DRAFTS: message("the state of a draft"),
    Matter.CATEGORIES: message("a category"),
    Matter.TAGS: message("tags"),
    Matter.SLUGS: message("an address of its own"),
}
_LOST_PARTS: Final[Mapping[str, Message]] = {
    Part.PARENTS: message("the parents of its categories"),
    Part.TAGS: message("its tags"),
    Part.AUTHOR: message("its author's name"),
    Part.EXCERPT: message("its excerpt"),
    Part.FEATURED: message("its featured picture"),
    Part.ADDRESS: message("its old address"),
    Part.PAGE: message("its mark as a page"),
    Part.SCHEDULED: message("its mark as scheduled"),
    Part.MEMBERS: message("its limit to members"),
    Part.PASSWORD: message("its password"),
    Part.TEMPLATE: message("the text that the old blog puts around it"),
    Part.FIELDS: message("its custom fields"),
    Part.THREADS: message("the comment that it answers"),
    Part.NOTICES: message("its mark as a trackback or pingback"),
    Part.EMAIL: message("its writer's mail address"),
    Part.OWNER: message("its mark as the owner's"),
}
_PARTS: Final[Mapping[str, Message]] = {
    "title": message("title"), "body": message("body"), "excerpt": message("excerpt"),
}  # fmt: skip
"""The parts of an entry that :data:`Reason.NOT_IN_XML_OF` names."""
_NAMES: Final[Mapping[Enum, Mapping[str, Message]]] = {
    Reason.NOT_KEPT: _MATTERS,
    Reason.NOT_SURE: _MATTERS,
    Reason.NOT_IN_XML_OF: _PARTS,
    Reason.NOT_HELD: _LOST_PARTS,
}
"""The words for the field of a cause."""
_HIDDEN: Final[Mapping[Enum, str]] = {
    Hidden.FLAG: message_template("{field} is {value}"),
    Hidden.UNDECLARED: message_template("{field} {value} is not declared public"),
    Hidden.ALL_DRAFTS: message_template("all entries are drafts, as asked for"),
    Hidden.NO_DATE: message_template("its date is impossible or missing"),
    Hidden.LATER: message_template("its date is later than the backup"),
    Hidden.REMOVED: message_template("the newest version does not hold it any more"),
    Hidden.WITHDRAWN: message_template("{field} no longer shows it"),
    Hidden.COMMENT: message_template("{field} {value} is not visible"),
}


def kind_name(kind: str, count: int) -> Message:
    """Return the noun for this number of records."""
    one, many = _KINDS[kind]
    return one if count == 1 else many


def sentence(kind: str, cause: Cause) -> Message:
    """Return why something happened to a record of a kind."""
    field = _NAMES.get(cause.reason, {}).get(cause.field, cause.field)
    hidden = _HIDDEN.get(cause.reason)
    text = filled(hidden or str(cause.reason.value), field=field, value=cause.value)
    if cause.newest:
        text = message("in the newest version, {reason}", reason=text)
    return message("not public: {reason}", reason=text) if hidden and kind == "entries" else text


def why_not_saved(asset: Asset | None) -> Reason:
    """Return why a file is not in the archive: pending, lost, or never asked for."""
    if asset is None or asset.state is AssetState.LEFT_OUT:
        return Reason.NOT_SAVED
    return Reason.GONE if asset.state is AssetState.LOST else Reason.NOT_SAVED_YET
