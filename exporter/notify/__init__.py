"""Notifying those who are not there at night: a monitor, a command of one's own, and what was notified already."""
