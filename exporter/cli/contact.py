"""The contact that captures name to webmasters: asked for once at a terminal, then kept in the user's settings file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.errors import BlogExporterError
from exporter.message import message, said
from exporter.setting_sources import Origin
from exporter.settings import own_config_path

if TYPE_CHECKING:
    from exporter.cli.output import Output
    from exporter.settings import Settings


def with_contact(out: Output, settings: Settings, config: Path | None) -> Settings:
    """Return the settings of a capture with the contact for webmasters.

    At a terminal, the question is asked if no source has the setting; an empty answer is kept as well, so it is asked
    once. Without a terminal, and with ``--json`` or ``-q``, nothing is asked.

    Args:
        out: the command's output.
        settings: as resolved.
        config: the settings file of the command line.
    """
    is_stated = any(settings.sources[name].origin is not Origin.DEFAULT for name in ("user_agent", "operator"))
    if is_stated or not out.attended:
        return settings
    from exporter.cli.questions import Questions
    from exporter.cli.user_settings import keep_setting

    question = message("Who should a webmaster write to? A mail or web address, sent with requests; Enter for none")
    answer = Questions().value(question, "", _contact)
    path = own_config_path(config)
    try:
        keep_setting(path, "operator", answer)
    except BlogExporterError as error:
        out.warn(said(error))
    else:
        out.say("Kept in {path} as operator.", path=path)
    return replace(settings, operator=answer)


def _contact(answer: str) -> str:
    from exporter.http.user_agent import contact_addresses
    from exporter.settings import check_setting

    if answer and not contact_addresses(answer):
        raise ValueError(message("Please type a mail address or a web address, or press Enter."))
    found: str = check_setting("operator", answer)
    return found
