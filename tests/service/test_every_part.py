"""A view or export shows every part of a record, a report names it, or the table below gives a reason.

Each value of a sample record is changed alone. If no output changes, the part is lost.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from exporter.export.entry_page import render_entry
from exporter.model.kinds import Kind
from exporter.service.interface import BlogService
from tests.export.memory import Memory, export
from tests.service.part_samples import Sample, samples

FORMS: Final = ("wxr", "jsonl")
AS_FIELD = "is the name or the address of what another part states"
COMPUTED = "is made by the service from a part that is shown"
PRIVATE = "tells who a reader is; it stays in the archive"
FORM = "says how to read another part"
TECHNICAL: Final[Mapping[str, Mapping[str, str]]] = {
    "blog_v1": {
        "regist_user_id": "is the number of an account, without its name",
        "comments url": COMPUTED,
        "comments res_flg": "is a mark of the comment on the site",
    },
    "wxr": {
        "pubDate": COMPUTED,
        ".*_gmt": COMPUTED,
        "dc:creator": AS_FIELD,
        "guid/.*": AS_FIELD,
        ".*/@nicename": AS_FIELD,
        "wp:menu_order": "is the place in a menu",
        "wp:postmeta/0/.*": "names the featured picture, which is shown",
        "wp:postmeta/3/.*": "is a note of WordPress to itself",
        "wp:(?:post|comment)meta/./wp:meta_key": "is the name of a field that the report counts",
        "@xmlns:plugin": FORM,
        "attachments/0/(?:date|parent|title)": "orders a gallery, or selects its files",
        "comments wp:comment_id": AS_FIELD,
        "comments wp:comment_user_id": AS_FIELD,
        "comments wp:comment_author_IP": PRIVATE,
    },
    "movable_type": {
        "CONVERT BREAKS": FORM,
        "order/.*": "is the order of the lines in the file",
        "comments IP": PRIVATE,
    },
    "atompub": {
        "xml/id": AS_FIELD,
        "xml/@(?:type|rel)": FORM,
        "xml/@href": "is the address for edits",
        "xml/other:score": "is counted in the report",
        "xmlns/.*": FORM,
    },
    "wordpress": {
        "guid/.*": AS_FIELD,
        "author": AS_FIELD,
        "featured_media": AS_FIELD,
        "tags/0": AS_FIELD,
        "_embedded/.*/id": AS_FIELD,
        "(?:title|excerpt)/rendered": COMPUTED,
        "class_list/0": COMPUTED,
        "permalink_template": COMPUTED,
        "generated_slug": COMPUTED,
        "jetpack_featured_media_url": COMPUTED,
        "comments link": COMPUTED,
        "content/block_version": FORM,
        "excerpt/protected": FORM,
        "(?:comments )?content/raw": "is the source of what is shown",
        "meta/footnotes": "is in the shown text",
        "template": "names a file of the theme",
        "_links/.*": "are addresses of the API",
        "comments author_avatar_urls/24": "is a picture of another service",
        "comments author_ip": PRIVATE,
        "comments author_user_agent": PRIVATE,
    },
    "public_site": {"confidence": FORM, "sources/title": FORM},
}
"""By service, the parts whose change no output shows, with the reason for each."""
PAIRS: Final = {
    "t": "f",
    "f": "t",
    "open": "closed",
    "closed": "open",
    "comment": "pingback",
    "post": "page",
    "approved": "hold",
    "https://reader.example/": "https://other.example/",
}
"""Values with a meaning, and others."""
COUNTED: Final = {"blog_v1": 0, "wxr": 3, "movable_type": 1, "atompub": 1, "wordpress": 3, "public_site": 0}
"""The custom fields and unknown fields in each sample, which the report counts."""
Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each value that holds no others, with its place."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part's name, and the value with this part changed; only a document has several parts."""
    if isinstance(value, str) and value.startswith("<entry"):
        for found in re.finditer(r"<([\w:-]+)[^<>]*>([^<>]+)<|([\w:-]+)='([^']*)'", value):
            at, name = (found.span(2), found[1]) if found[2] else (found.span(4), f"@{found[3]}")
            yield name, value[: at[0]] + changed(value[at[0] : at[1]]) + value[at[1] :]
    else:
        yield "", changed(value)


def changed(value: Any) -> Any:
    """Return another value with the same type; a number or a date stays near the first one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if value is None:
        return "zq"
    if value in PAIRS:
        return PAIRS[value]
    if re.search(r"[0-9]", value) and not re.search(r"[^\W\d_TZ]", re.sub(r"[APM]M", "", value)):
        return re.sub(r"[0-9](?=[^0-9]*\Z)", lambda found: str((int(found[0]) + 1) % 10), value)
    return f"{value}zq"


def outputs(service: BlogService, records: Sample) -> tuple[str, ...]:
    """Return everything that people see of a record."""
    blog = Memory()
    for kind, raw in records.items():
        blog.kinds[kind][service.key(kind, raw) or ""] = raw
    made = [export(form, blog, service=service) for form in FORMS]
    post = service.post(records[Kind.ENTRIES], records.get(Kind.ENTRY_LIST))
    said = [service.comment(records[Kind.COMMENTS])] if Kind.COMMENTS in records else []
    page = render_entry(post, said).text
    return (page, *(repr(sorted(each.files.items())) + json.dumps(each.document) for each in made))


def report_of(made: tuple[str, ...]) -> list[str]:
    """Return the lines of the reports that name parts without a place in the format."""
    return re.findall(r'\{[^{}]*"not_held"[^{}]*\}', "".join(made))


@pytest.mark.parametrize("name", samples())
def test_every_part_is_seen(name: str) -> None:
    service, records = samples()[name]
    before = outputs(service, records)
    lost = []
    for kind in (Kind.ENTRIES, Kind.COMMENTS):
        for path, value in leaves(records.get(kind, {})):
            for part, other in changes(value):
                shown = "/".join(map(str, (*path, *([part] if part else []))))
                varied = copy.deepcopy(records)
                holder: Any = varied[kind]
                for key in path[:-1]:
                    holder = holder[key]
                holder[path[-1]] = other
                seen = outputs(service, varied)
                if not part:
                    holder[path[-1]] = ""
                if seen == before and report_of(outputs(service, varied)) == report_of(before):
                    lost.append(f"{kind} {shown}: {str(value)[:60]}")
    counted = sum(service.extras(kind, raw) for kind, raw in records.items() if kind in {Kind.ENTRIES, Kind.COMMENTS})
    assert counted == COUNTED[name]
    rows = {part: re.compile(f"(?:entries |comments )?{part}: .*") for part in TECHNICAL[name]}
    unknown = [each for each in lost if not any(row.fullmatch(each) for row in rows.values())]
    assert not unknown, "\n".join(unknown)
    assert not [part for part, row in rows.items() if not any(map(row.fullmatch, lost))]
