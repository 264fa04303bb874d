"""``profiles``: the known blog services, and the source of each fact."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from exporter.cli.help import cli_command
from exporter.cli.options import with_config
from exporter.cli.output import OnLoss, Output
from exporter.message import message
from exporter.service.declarations import BLOG_HOSTS, DEVELOPER_PAGE, FactBasis, KnownFact, Profile
from exporter.service.registry import PROFILES
from exporter.settings import ConfigFile, check_profile, known_profiles, profile_named, read_config

_LABELS: Final = {BLOG_HOSTS: message("hosts of its blogs"), DEVELOPER_PAGE: message("page for developers")}
"""The names of the facts that are not settings."""


@cli_command(
    "profiles",
    help=message(
        """List the known blog services and the source of each fact, such as addresses and how to sign in.

        NAME shows one service. Your own settings override the facts. To add a profile, write a table
        [profiles.NAME] with settings into your settings file. Its blog_hosts lists the hosts of the blogs."""
    ),
    epilog="""\b
Examples:
  blog-exporter profiles
  blog-exporter profiles ninja --json
""",
)
@click.argument("name", metavar="[NAME]", required=False)
@with_config(on_loss=OnLoss.STOP)
def command(*, out: Output, name: str | None, config: Path | None) -> int:
    """Show all profiles, or one."""
    file = read_config(config)
    profiles = known_profiles(file)
    shown = list(profiles.values()) if name is None else [profile_named(name, profiles)]
    for profile in shown:
        check_profile(profile)
    out.document({"profiles": [_document(profile, file) for profile in shown]})
    for number, profile in enumerate(shown):
        if number:
            out.answer("")
        _print(out, profile)
    return 0


def _document(profile: Profile, file: ConfigFile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "title": profile.title,
        "built_in": PROFILES.get(profile.name) is profile,
        "from": None if PROFILES.get(profile.name) is profile else str(file.path),
        "facts": {
            name: {"value": fact.value, "standing": str(fact.basis), "source": fact.source}
            for name, fact in profile.facts.items()
        },
        "unknown": list(profile.unknown),
    }


def _print(out: Output, profile: Profile) -> None:
    if profile.title == profile.name:
        out.answer("{name}: your profile", name=profile.name)
    else:
        out.answer("{name}: {title}", name=profile.name, title=profile.title)
    for name, fact in profile.facts.items():
        shown = _LABELS.get(name, name)
        out.answer("  {name} = {value}", name=shown, value=fact.value)
        out.answer("      {standing}", standing=_basis(fact))
    if profile.unknown:
        out.answer(message("  Not known:"))
    for what in profile.unknown:
        out.answer("      {what}", what=what)


def _basis(fact: KnownFact) -> str:
    if fact.basis is FactBasis.AGREED:
        return message("agreed with the service's owner: {source}", source=fact.source)
    if fact.basis is FactBasis.DOCUMENTED:
        return message("documented: {source}", source=fact.source)
    if fact.basis is FactBasis.OBSERVED:
        return message("observed: {source}", source=fact.source)
    if fact.basis is FactBasis.CHOSEN:
        return message("our choice: {source}", source=fact.source)
    return message("your own: {path}", path=fact.source)
