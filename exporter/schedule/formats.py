"""Write a plan for each scheduler: crontab lines, systemd units, a launchd file, a Windows task.

The quoting rules are those of crontab(5) and POSIX' sh, and of systemd.service(5), "Command lines", and
systemd.syntax(7). :mod:`plistlib` writes launchd.plist(5); :mod:`xml.etree` writes Microsoft's Task Scheduler Schema.
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
"""The mark of our files and blocks; files without it are never overwritten."""
CATCH_UP: Final = ("--unless-newer", "26h")
"""Options for the hourly line, which makes up for a missed or failed night within a few hours."""
AT_SIGN_IN: Final = ("--unless-newer", "3h")
"""Options for the agent of launchd, which cannot tell a sign-in from the night: a night that counts as saved was."""
_MAX_LINE_BYTES: Final = 990
"""In bytes: cron cuts commands at 1,000 bytes, or refuses the whole table."""
TASKS: Final = "http://schemas.microsoft.com/windows/2004/02/mit/task"
_REPLACED_BY_WINDOWS: Final = re.compile(r"%[^%]+%|\$\(")


def cron_lines(plan: NightPlan) -> str:
    """Write two crontab lines: the nightly backup, and an hourly one for missed nights.

    Raises:
        UsageError: a line is too long for cron.
    """
    nightly = f"{plan.at.minute} {plan.at.hour} * * *  {_cron_command(plan.command)}"
    later = (plan.at.minute + 30) % 60
    hourly = f"{later} * * * *  {_cron_command((*plan.command, *CATCH_UP))}"
    if len(hourly.encode("utf-8")) > _MAX_LINE_BYTES:
        raise UsageError(
            message("cron accepts lines up to 1,000 bytes, and the paths are too long: use shorter ones, or systemd.")
        )
    return f"{nightly}\n{hourly}\n"


def _cron_command(words: Sequence[str]) -> str:
    # cron turns % into a line break, and removes a backslash before % or another backslash, even inside quotes.
    # So no backslash may precede one of these.
    return re.sub(r"\\(?=[\\%])", r"\\''", shlex.join(words)).replace("%", "\\%")


def systemd_service(plan: NightPlan) -> str:
    """Write the unit that runs one backup.

    A backup that fails because the service or the network is unavailable (exit code 20) runs again up to three times:
    a user's unit cannot wait for the network.

    Raises:
        UsageError: systemd cannot start a program at that path.
    """
    if set(plan.command[0]) & set("\\\"'"):
        raise UsageError(
            "systemd cannot start a program whose path has a quote or a backslash: {path}", path=plan.command[0]
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
    """Write the unit that starts the backup every night, or when the machine is on again."""
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
    # The colon before the program leaves $ unchanged.
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _systemd_text(text: str) -> str:
    return text.replace("%", "%%").rstrip("\\")


def _codes(of: type[BlogExporterError]) -> set[int]:
    return {of.exit_code}.union(*(_codes(child) for child in of.__subclasses__()))


def launchd_plist(plan: NightPlan, log: str) -> str:
    """Write a launchd agent, which starts every night, or when the machine wakes up.

    Args:
        plan: the plan. It also runs when the user signs in, because the machine may have been off at night.
        log: the file for its output.
    """
    agent = {
        "Label": plan.name,
        "ProgramArguments": [*plan.command, *AT_SIGN_IN],
        "StartCalendarInterval": {"Hour": plan.at.hour, "Minute": plan.at.minute},
        "RunAtLoad": True,
        "ProcessType": "Background",
        "Nice": 10,
        "Umask": 0o077,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    text = plistlib.dumps(agent).decode("utf-8")
    return text.replace("<plist ", f"<!-- {MADE} -->\n<plist ", 1)


def windows_task(plan: NightPlan) -> str:
    """Write a task for ``schtasks /Create /XML``. Without an XML declaration, any encoding with a BOM works.

    Raises:
        UsageError: a path looks like a variable, and Task Scheduler has no escape for it.
    """
    task = ET.Element("Task", version="1.2", xmlns=TASKS)
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
    replaced = next((word for word in plan.command if _REPLACED_BY_WINDOWS.search(word)), None)
    if replaced is not None:
        raise UsageError("Task Scheduler would replace a part of {word} by a variable: rename it.", word=replaced)
    _add(ET.SubElement(task, "Actions"), "Exec", Command=program, Arguments=subprocess.list2cmdline(arguments))
    ET.indent(task)
    return ET.tostring(task, encoding="unicode") + "\n"


def _add(parent: ET.Element, tag: str, **children: str) -> ET.Element:
    element = ET.SubElement(parent, tag)
    for name, text in children.items():
        ET.SubElement(element, name).text = text
    return element
