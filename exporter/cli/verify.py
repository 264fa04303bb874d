"""``verify``: two questions, answered apart: is the archive intact, and is it complete."""

from __future__ import annotations

from pathlib import Path

import click

from exporter.archive.reader import ArchiveReader
from exporter.archive.verify import recorded, verify
from exporter.cli.options import archive_argument, talking
from exporter.cli.output import Output, counted
from exporter.cli.progress import Bar
from exporter.cli.summary import completeness_lines
from exporter.errors import ArchiveDamaged, Incomplete
from exporter.printable import printable


@click.command("verify")
@archive_argument
@click.option("--quick", is_flag=True, help="Sizes and chains, and the sums of files that changed since the last time.")
@talking
def command(*, out: Output, archive: Path, quick: bool) -> int:
    """Check every hash, chain and fold of the archive in DIR, and tell whether everything was read.

    Exits with 13 when something is damaged, with 3 when it is intact but incomplete.
    """
    reader = ArchiveReader(archive)
    reader.resolve()
    findings = []
    with Bar(out, "verifying") as bar:
        for finding in verify(reader, quick=quick, told=bar.update):
            findings.append(finding)
            out.answer(f"{finding.code}: {printable(finding.path)}: {printable(finding.detail)} ({finding.mend})")
    damage = [finding for finding in findings if finding.damage]
    completeness, problems = recorded(reader)
    complete = bool(completeness.get("complete"))
    out.document(
        {
            "archive": str(archive.absolute()),
            "versions": len(reader.versions()),
            "quick": quick,
            "intact": not damage,
            "complete": complete,
            "completeness": completeness,
            "problems": problems,
            "findings": [
                {
                    "code": str(finding.code),
                    "path": finding.path,
                    "detail": finding.detail,
                    "damage": finding.damage,
                    "mend": finding.mend,
                }
                for finding in findings
            ],
        }
    )
    if damage:
        raise ArchiveDamaged(f"{archive} is damaged: {counted(len(damage), 'finding')}; what to do stands with each.")
    held = "sizes, chains and the sums of changed files hold" if quick else "every hash, chain and fold holds"
    out.answer(f"Intact: {counted(len(reader.versions()), 'version')}, {held}.")
    for line in completeness_lines(completeness, problems):
        out.answer(line)
    if not complete:
        raise Incomplete(f"{archive} is intact, but not everything could be read; run backup again.")
    return 0
