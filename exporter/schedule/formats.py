"""A plan in the words of each scheduler: a crontab's lines, systemd's units, launchd's and Windows' files.

Rules of quoting: crontab(5) and POSIX' sh; systemd.service(5), "Command lines", and systemd.syntax(7); launchd.plist(5)
by :mod:`plistlib`; Microsoft's Task Scheduler Schema by :mod:`xml.etree`.
"""

from __future__ import annotations

import plistlib
import re
import shlex
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Final

from exporter.errors import BlogExporterError, ServiceError, UsageError
from exporter.message import message
from exporter.schedule.plan import NightPlan

MADE: Final = "made by blog-exporter schedule"
"""What a file or block of ours says of itself; nothing without it is ever overwritten."""
CATCH_UP: Final = ("--unless-newer", "26h")
"""Added to what tries every hour: a night that was missed, or failed, is made up for within a few hours."""
_LONGEST_LINE: Final = 990
"""cron cuts commands at 1,000 bytes, or refuses the whole table."""
_TASKS: Final = "http://schemas.microsoft.com/windows/2004/02/mit/task"


def cron_lines(plan: NightPlan) -> str:
    """Write the lines for a crontab: every night, and once an hour what was missed.

    Raises:
        UsageError: cron would not take a line so long.
    """
    nightly = f"{plan.at.minute} {plan.at.hour} * * *  {_cron_command(plan.command)}"
    later = (plan.at.minute + 30) % 60
    hourly = f"{later} * * * *  {_cron_command((*plan.command, *CATCH_UP))}"
    if len(hourly.encode("utf-8")) > _LONGEST_LINE:
        raise UsageError(
            message("cron takes lines of 1,000 bytes only, and the paths make it longer: use shorter ones, or systemd.")
        )
    return f"{nightly}\n{hourly}\n"


def _cron_command(words: Sequence[str]) -> str:
    # cron makes a line break of a %, and takes away a backslash before that or before another one, whatever the quotes:
    # so no backslash of a path may stand before either.
    return re.sub(r"\\(?=[\\%])", r"\\''", shlex.join(words)).replace("%", "\\%")


def systemd_service(plan: NightPlan) -> str:
    """Write the unit that does one backup.

    What fails because the service, or the network, is not there (exit code 20) is tried again three times. No unit of
    a user can wait for the network.

    Raises:
        UsageError: systemd starts no program of that path.
    """
    if set(plan.command[0]) & set("\\\"'"):
        raise UsageError(
            message("systemd starts no program whose path has a quote or a backslash: {path}", path=plan.command[0])
        )
    hopeless = sorted({code for code in _codes(BlogExporterError) if code != ServiceError.exit_code})
    return f"""\
# {MADE}
[Unit]
Description=Back up {_systemd_text(plan.blog_id)}
StartLimitIntervalSec=12h
StartLimitBurst=4

[Service]
Type=oneshot
ExecStart=:{" ".join(map(_systemd_word, plan.command))}
Restart=on-failure
RestartPreventExitStatus={" ".join(map(str, hopeless))}
RestartSec=20min
Nice=10
UMask=0077
"""


def systemd_timer(plan: NightPlan) -> str:
    """Write the unit that starts the other one every night, or as soon as the machine is there again."""
    return f"""\
# {MADE}
[Unit]
Description=Back up {_systemd_text(plan.blog_id)} every night

[Timer]
OnCalendar=*-*-* {plan.at:%H:%M}:00
RandomizedDelaySec=15min
Persistent=true

[Install]
WantedBy=timers.target
"""


def _systemd_word(word: str) -> str:
    # The colon before the program keeps $ as it is.
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _systemd_text(text: str) -> str:
    return text.replace("%", "%%").rstrip("\\")


def _codes(of: type[BlogExporterError]) -> set[int]:
    return {of.exit_code}.union(*(_codes(child) for child in of.__subclasses__()))


def launchd_plist(plan: NightPlan, log: str) -> str:
    """Write the property list of an agent, which launchd starts every night, or once the machine wakes up.

    Args:
        plan: what is to be done. After a start of the machine it is done at once, unless that was in the last 12 h.
        log: the file for what it says.
    """
    agent = {
        "Label": plan.name,
        "ProgramArguments": [*plan.command, "--unless-newer", "12h"],
        "StartCalendarInterval": {"Hour": plan.at.hour, "Minute": plan.at.minute},
        "RunAtLoad": True,
        "ProcessType": "Background",
        "Nice": 10,
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    return plistlib.dumps(agent).decode("utf-8")


def windows_task(plan: NightPlan) -> str:
    """Write a task for ``schtasks /Create /XML``; without an XML declaration any encoding with a BOM will do."""
    task = ET.Element("Task", version="1.2", xmlns=_TASKS)
    _add(task, "RegistrationInfo", Description=f"{MADE}: {plan.blog_id}")
    trigger = ET.SubElement(ET.SubElement(task, "Triggers"), "CalendarTrigger")
    ET.SubElement(trigger, "StartBoundary").text = f"2026-01-01T{plan.at:%H:%M}:00"
    ET.SubElement(trigger, "RandomDelay").text = "PT15M"
    _add(trigger, "ScheduleByDay", DaysInterval="1")
    _add(ET.SubElement(task, "Principals"), "Principal", LogonType="InteractiveToken", RunLevel="LeastPrivilege")
    settings = _add(
        task,
        "Settings",
        MultipleInstancesPolicy="IgnoreNew",
        DisallowStartIfOnBatteries="false",
        StopIfGoingOnBatteries="false",
        StartWhenAvailable="true",
        RunOnlyIfNetworkAvailable="true",
        ExecutionTimeLimit="PT12H",
        Priority="7",
    )
    _add(settings, "RestartOnFailure", Interval="PT20M", Count="3")
    program, *arguments = plan.command
    _add(ET.SubElement(task, "Actions"), "Exec", Command=program, Arguments=subprocess.list2cmdline(arguments))
    ET.indent(task)
    return ET.tostring(task, encoding="unicode") + "\n"


def _add(parent: ET.Element, tag: str, **children: str) -> ET.Element:
    element = ET.SubElement(parent, tag)
    for name, text in children.items():
        ET.SubElement(element, name).text = text
    return element
