"""Write the program's facts about targets into docs/targets.md.

python -m tests.export.targets_page
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from exporter.export.targets import TARGETS, Fact, Matter, Target

PAGE: Final = Path(__file__).parent.parent.parent / "docs" / "targets.md"
_BEGIN: Final = "<!-- targets: python -m tests.export.targets_page -->\n"
_END: Final = "<!-- end -->\n"
_KEPT: Final = (Matter.COMMENTS, Matter.PICTURES, Matter.DRAFTS, Matter.CATEGORIES, Matter.TAGS, Matter.SLUGS)


def as_markdown() -> str:
    """Return the tables of all targets and of all facts."""
    matters = [*_KEPT, Matter.ENCODING]
    lines = [
        f"| Target | For | Format | Most in a file | {' | '.join(each.capitalize() for each in matters)} |",
        "|---" * (4 + len(matters)) + "|",
    ]
    for target in TARGETS.values():
        forms = ", ".join(f"`{form}`" for form in target.forms)
        cells = [_kept(target, matter) for matter in matters]
        taken = f"{forms}{'' if target.keeps(Matter.FORMAT) else ' ?'}"
        lines.append(f"| `{target.name}` | {target.title} | {taken} | {_most(target)} | {' | '.join(cells)} |")
    lines += ["", "| Target | Of | What is known | Confirmed | Source |", "|---|---|---|---|---|"]
    lines += [_row(target, fact) for target in TARGETS.values() for fact in target.facts]
    return "\n".join(lines) + "\n"


def with_tables(page: str) -> str:
    """Return the page with current tables."""
    before, begin, rest = page.partition(_BEGIN)
    assert begin
    return f"{before}{_BEGIN}\n{as_markdown()}\n{_END}{rest.partition(_END)[2]}"


def _kept(target: Target, matter: Matter) -> str:
    return {True: "yes", False: "no", None: "?"}[target.keeps(matter)]


def _most(target: Target) -> str:
    limits = [
        f"{target.max_entries:,} entries" if target.max_entries else "",
        f"{target.max_bytes / 1_000_000:g} MB" if target.max_bytes else "",
    ]
    return ", ".join(filter(None, limits)) or "?"


def _row(target: Target, fact: Fact) -> str:
    shown = fact.source.partition("//")[2].partition("/")[0] or "tried here"
    confirmed = "yes" if fact.confirmed else "no"
    return f"| `{target.name}` | {fact.matter} | {fact.says} | {confirmed} | [{shown}]({fact.source}) |"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
