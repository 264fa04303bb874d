"""Texts, addresses, ids and dates turned into others of the same shape, the same one always into the same. Pure.

What is kept, and why, is in docs/check.md; the words are in :mod:`exporter.report.names`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, timedelta
from functools import cache
from html.entities import html5
from itertools import groupby
from typing import Final

from exporter.report.characters import Chooser, is_text, scrambled_run
from exporter.report.markup import Cut, Piece, cut
from exporter.report.names import (
    ADDRESS_ATTRIBUTES,
    ATTRIBUTES,
    CSS,
    CSS_UNITS,
    ENDINGS,
    LINE_WORDS,
    MARKUP_WORDS,
    PATH_WORDS,
    PUBLIC_HOSTS,
    SERVICE_HOSTS,
    TAGS,
    TOP_LABELS,
    VALUES,
)

_SHORT: Final = 3
_TRIES: Final = 30
_NUMBER: Final = re.compile(r"[0-9]+")
_LENGTH: Final = re.compile(r"[+-]?[0-9]{1,4}(?:\.[0-9]{1,3})?(?:%|[a-z]{0,4})")
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{3,8}")
_CSS_URL: Final = re.compile(r"(url\(\s*[\"']?)([^\"')]*)", re.IGNORECASE)
_LINE_WORD: Final = re.compile(r"(?:^|(?<=[\r\n]))[A-Z]{2,10}(?: [A-Z]{2,10})?(?=:)")
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_PERCENT_RUN: Final = re.compile(rf"({_PERCENT.pattern})")
_URL: Final = re.compile(
    r"(?P<lead>\s*)(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*:)?(?P<slashes>//)?(?(slashes)(?P<place>[^/?#\\]*))"
    r"(?P<path>[^?#]*)(?P<query>\?[^#]*)?(?P<fragment>#.*)?",
    re.DOTALL,
)
_SCHEMES: Final = frozenset({"http", "https", "mailto", "ftp", "tel", "data", "javascript", "file", "about", "feed"})
_DATA: Final = re.compile(
    r"(?:image|text|audio|video|application)/[a-z0-9.+-]{1,20}(?:;charset=[a-z0-9-]{1,12})?(?:;base64)?,"
)
_HOST: Final = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_DATE: Final = re.compile(r"([0-9]{4})([-/])([0-9]{1,2})([-/])([0-9]{1,2})((?:[ T][0-9:]{4,8})?)")
_SECONDS: Final = re.compile(r"[0-9]{8,11}")
_WEEKS: Final = range(53, 160)
_DAY: Final = 86400


class Scrambler:
    """Turns what a blog holds into something else of the same shape.

    Args:
        key: decides into what; who has it not cannot turn anything back.
        banned: runs of four characters of text that may not come out, see
            :func:`~exporter.report.characters.telling_windows`.
        ids: all ids that are numbers; their order is kept.
        moments: dates in seconds since 1970, whose length is kept.
        words: of the placeholders in address patterns, which are kept in addresses.
    """

    def __init__(
        self,
        key: bytes,
        banned: Collection[str] = (),
        ids: Iterable[str] = (),
        moments: Iterable[str] = (),
        words: Iterable[str] = (),
    ) -> None:
        self._key = key
        self._banned = banned
        self._placeholders = frozenset(word.lower() for word in words)
        self._path_words = PATH_WORDS | self._placeholders
        self._ids = self._numbered(set(ids))
        self.days = self._shift(list(moments))
        self.word = cache(self._word)
        self.text = cache(self._text)
        self._moments = {moment: self.date(moment) for moment in moments}

    # -- numbers

    def _numbered(self, ids: set[str]) -> dict[str, str]:
        """Map ids to others of the same length in the same order."""
        groups: defaultdict[int, list[int]] = defaultdict(list)
        for each in ids:
            if _NUMBER.fullmatch(each) and not each.startswith("0"):
                groups[len(each)].append(int(each))
        found: dict[str, str] = {}
        for length, group in groups.items():
            low, high = 10 ** (length - 1), 10**length
            group.sort()
            if 2 * len(group) > high - low:
                new = group
            else:
                chooser = Chooser(self._key, "ids", str(length))
                drawn: set[int] = set()
                while len(drawn) < len(group):
                    drawn.add(low + chooser.below(high - low))
                new = sorted(drawn)
            found |= dict(zip(map(str, group), map(str, new), strict=True))
        return found

    def _shift(self, moments: Iterable[str]) -> int:
        """Return the days that all dates are moved by, back, a whole number of weeks and more than a year."""
        chooser = Chooser(self._key, "days", "")
        times = [int(moment) for moment in moments if _SECONDS.fullmatch(moment)]
        for _ in range(_TRIES):
            days = -7 * _WEEKS[chooser.below(len(_WEEKS))]
            if all(len(str(time)) == len(str(time + days * _DAY)) for time in times):
                return days
        return -7 * _WEEKS[0]

    def id(self, text: str) -> str:
        """Return another id: of a number one in the same order, of a host a host, else a word."""
        if text in self._ids:
            return self._ids[text]
        if _HOST.fullmatch(text):
            return self.host(text)
        return text if len(text) <= 1 else self.word(text)

    def date(self, text: str) -> str:
        """Return a date, or seconds since 1970, moved by the days that all are; an impossible date stays one."""
        found = _DATE.fullmatch(text)
        if found is not None:
            year, month, day = self.day(found[1], found[3], found[5])
            return f"{year}{found[2]}{month}{found[4]}{day}{found[6]}"
        if _SECONDS.fullmatch(text):
            return str(max(0, int(text) + self.days * _DAY)).zfill(len(text))
        return self.text(text)

    def day(self, year: str, month: str, day: str) -> tuple[str, str, str]:
        """Return a day moved; of one that is none only the year is."""
        try:
            moved = date(int(year), int(month), int(day)) + timedelta(days=self.days)
        except (ValueError, OverflowError):
            if not (_NUMBER.fullmatch(year) and len(year) == 4) or year == "0000":
                return (year if len(year) <= _SHORT or year == "0000" else self.text(year)), month, day
            back = max(1, int(year) + self.days // 365)
            return f"{back:04d}", month, day
        return (
            f"{moved.year:04d}".zfill(len(year)),
            f"{moved.month:0{len(month)}d}",
            f"{moved.day:0{len(day)}d}",
        )

    def number(self, text: str) -> str:
        """Return a number in its written form with other digits."""
        chooser = Chooser(self._key, "number", text)
        made = []
        leading = True
        for char in text:
            if char.isdigit():
                low = 1 if leading and char != "0" else 0
                made.append("0" if leading and char == "0" else str(low + chooser.below(10 - low)))
                leading = False
            else:
                made.append(char)
        return "".join(made)

    # -- words

    def _word(self, text: str) -> str:
        """Return another word, the same for the same one wherever it stands."""
        return self._run("word", text)

    def _run(self, purpose: str, text: str, before: str = "") -> str:
        return scrambled_run(text, Chooser(self._key, purpose, text), self._banned, before)

    # -- text with HTML in it

    def _text(self, text: str) -> str:
        """Return a text of the same structure, every character of text another one."""
        if text in self._ids:
            return self._ids[text]
        pieces = list(cut(text))
        for number in range(_TRIES):
            made = self._joined(pieces, f"{number}:{text}" if number else text)
            if _alike(pieces, list(cut(made))):
                return made
        return self._run("plain", text)

    def _joined(self, pieces: Iterable[Cut], salt: str) -> str:
        made = ""
        chooser = Chooser(self._key, "text", salt)
        for piece in pieces:
            made += self._piece(piece, chooser, made[-_SHORT:])
        return made

    def _piece(self, piece: Cut, chooser: Chooser, before: str) -> str:
        kind, text = piece.piece, piece.text
        if kind is Piece.SYNTAX:
            return text
        if kind is Piece.TAG:
            return text if text.lower() in TAGS else self._unlike(text, TAGS)
        if kind is Piece.NAME:
            return text if text.lower() in ATTRIBUTES else self._unlike(text, ATTRIBUTES)
        if kind is Piece.ADDRESS:
            return self.address(text)
        if kind is Piece.REFERENCE:
            return self._reference(text, chooser)
        if kind is Piece.VALUE:
            return self._value(piece.of, text)
        return _kept_in(_LINE_WORD, text, self._is_line_word, lambda part: self._plain(part, chooser, before))

    def _plain(self, text: str, chooser: Chooser, before: str) -> str:
        if text.strip().split(" ")[0].rstrip("[").lower() in MARKUP_WORDS and before.endswith(("<!", "<?")):
            word = re.match(r"\w+", text)
            kept = word[0] if word is not None else ""
            return kept + scrambled_run(text[len(kept) :], chooser, self._banned)
        return scrambled_run(text, chooser, self._banned, before)

    @staticmethod
    def _is_line_word(text: str) -> bool:
        return all(word in LINE_WORDS for word in text.split())

    def _unlike(self, text: str, known: Collection[str]) -> str:
        """Return another name that is not a known one."""
        for number in range(_TRIES):
            made = self._run(f"name{number}", text)
            if made.lower() not in known:
                return made
        return made

    def _reference(self, text: str, chooser: Chooser) -> str:
        """Return another character reference of the same form, where it stands for a character of text."""
        name = text[1:]
        if not name.startswith("#"):
            letter = html5.get(name, "")
            if not letter:
                return "&" + scrambled_run(name, chooser, self._banned)
            if unicodedata.category(letter[0])[0] != "L":
                return text
            others = _named(len(name), name.endswith(";"))
            return "&" + others[chooser.below(len(others))] if len(others) > 1 else text
        digits = name[1:].rstrip(";")
        hexadecimal = digits[:1] in {"x", "X"}
        code = int(digits[1:], 16) if hexadecimal else int(digits)
        if not 0 < code < 0x110000 or not is_text(chr(code)):
            return text
        for _ in range(_TRIES):
            new = ord(scrambled_run(chr(code), chooser, ()))
            written = digits[0] + format(new, "x") if hexadecimal else str(new)
            if len(written) == len(digits):
                break
        return f"&#{written}" + (";" if name.endswith(";") else "")

    def _value(self, name: str, value: str) -> str:
        if name in ADDRESS_ATTRIBUTES:
            return self.address(value)
        if name == "srcset":
            return re.sub(r"[^\s,]+", lambda found: self._source(found[0]), value)
        if name == "style":
            return self.style(value)
        if name in {"alt", "title", "summary", "content", "value", "label", "placeholder"}:
            return self._inner(value)
        return re.sub(r"\S+", lambda found: self._attribute_word(found[0]), value)

    def _source(self, text: str) -> str:
        return text if re.fullmatch(r"[0-9.]{1,5}[wx]", text) else self.address(text)

    def _inner(self, text: str) -> str:
        """Return the text of an attribute, whose character references count and whose tags do not."""
        chooser = Chooser(self._key, "value", text)
        parts = re.split(r"(&(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[a-zA-Z][a-zA-Z0-9]*);?)", text)
        return "".join(
            self._reference(part, chooser) if at % 2 else scrambled_run(part, chooser, self._banned)
            for at, part in enumerate(parts)
        )

    def _attribute_word(self, word: str) -> str:
        if word.lower() in VALUES or _LENGTH.fullmatch(word) or _COLOUR.fullmatch(word):
            return word
        return "".join(
            part if (len(part) == 1 and not is_text(part)) or part.lower() in VALUES else self.id(part)
            for part in _parts(word)
        )

    def style(self, value: str) -> str:
        """Return a style whose properties, keywords, colours and sizes are kept."""
        made, at = [], 0
        for found in _CSS_URL.finditer(value):
            made.append(self._style_part(value[at : found.start()]))
            made += [found[1], self.address(found[2])]
            at = found.end()
        made.append(self._style_part(value[at:]))
        return "".join(made)

    def _style_part(self, text: str) -> str:
        made: list[str] = []
        for part in _parts(text):
            colour = made[-1:] == ["#"] and _COLOUR.fullmatch(f"#{part}")
            kept = part.lower() in CSS | CSS_UNITS or _LENGTH.fullmatch(part) or not is_text(part[0])
            made.append(part if kept or colour else self.word(part))
        return "".join(made)

    # -- addresses

    def host(self, name: str) -> str:
        """Return another host; of public ones and those of known services the known part is kept."""
        lower = name.lower()
        if (
            lower in PUBLIC_HOSTS
            or any(lower.endswith(f".{known}") for known in PUBLIC_HOSTS)
            or lower in SERVICE_HOSTS
        ):
            return name
        suffix = next((known for known in SERVICE_HOSTS if lower.endswith(f".{known}")), "")
        own = name[: -len(suffix)] if suffix else name
        return (
            "".join(
                label if label.lower() in TOP_LABELS or label == "." else self.word(label)
                for label in re.findall(r"\.|[^.]+", own)
            )
            + name[len(own) :]
        )

    def address(self, text: str) -> str:
        """Return another address: scheme, marks, endings and common words of paths are kept, ids and dates agree."""
        found = _URL.fullmatch(text)
        if found is None:
            return self._inner(text)
        scheme = found["scheme"] or ""
        if scheme[:-1].lower() == "data":
            data = _DATA.match(text, found.end("scheme"))
            if data is not None:
                return text[: data.end()] + self._run("data", text[data.end() :])
        if scheme and scheme[:-1].lower() not in _SCHEMES:
            scheme = self.word(scheme)
        place = found["place"] or ""
        user, at, host = place.rpartition("@")
        name, colon, port = host.partition(":")
        return (
            (found["lead"] or "")
            + scheme
            + (found["slashes"] or "")
            + self._words(user, ())
            + at
            + (self.host(name) if _HOST.fullmatch(name) else self._words(name, TOP_LABELS | self._placeholders))
            + colon
            + (port if len(port) <= 5 and port.isascii() and port.isdigit() else self._words(port, ()))
            + self._words(found["path"], self._path_words | ENDINGS)
            + self._words(found["query"] or "", self._path_words | ENDINGS)
            + self._words(found["fragment"] or "", VALUES)
        )

    def _words(self, text: str, kept: Collection[str]) -> str:
        """Return a part of an address, word by word."""
        made = []
        for part in _parts(text):
            if part in self._ids:
                made.append(self._ids[part])
            elif part in self._moments:
                made.append(self._moments[part])
            elif part.startswith("%"):
                made.append(self._percent(part) if _PERCENT.fullmatch(part) else part)
            elif part.lower() in kept or not is_text(part[0]):
                made.append(part)
            else:
                made.append(self.word(part))
        return "".join(made)

    def _percent(self, text: str) -> str:
        data = bytes.fromhex(text.replace("%", ""))
        try:
            new = self.word(data.decode("utf-8")).encode("utf-8")
        except UnicodeDecodeError:
            chooser = Chooser(self._key, "bytes", text)
            new = bytes(0xA1 + chooser.below(0x5E) if byte >= 0x80 else 0x61 + chooser.below(26) for byte in data)
        form = "%%%02X" if text.upper() == text else "%%%02x"
        return "".join(form % byte for byte in new)


def _parts(text: str) -> Iterator[str]:
    """Yield a text cut into runs of characters of text, percent-encoded bytes in a row, and single other characters."""
    for at, part in enumerate(_PERCENT_RUN.split(text)):
        if at % 2:
            yield part
        else:
            for textual, run in groupby(part, is_text):
                if textual:
                    yield "".join(run)
                else:
                    yield from run


def _alike(before: list[Cut], after: list[Cut]) -> bool:
    """Tell whether two texts are cut alike, known tags the same."""
    return len(before) == len(after) and all(
        one.piece is other.piece
        and len(one.text) == len(other.text)
        and (one.piece is not Piece.TAG or (one.text.lower() in TAGS) == (other.text.lower() in TAGS))
        for one, other in zip(before, after, strict=True)
    )


def _kept_in(pattern: re.Pattern[str], text: str, keep: Callable[[str], bool], change: Callable[[str], str]) -> str:
    """Return a text with everything changed but what a pattern finds and is to be kept."""
    made, at = [], 0
    for found in pattern.finditer(text):
        if keep(found[0]):
            made += [change(text[at : found.start()]), found[0]]
            at = found.end()
    made.append(change(text[at:]))
    return "".join(made)


@cache
def _named(length: int, closed: bool) -> list[str]:
    """Return the names of character references of a length that stand for a letter."""
    return sorted(
        name
        for name, letter in html5.items()
        if len(name) == length
        and name.endswith(";") is closed
        and len(letter) == 1
        and unicodedata.category(letter)[0] == "L"
    )
