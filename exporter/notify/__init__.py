"""Notify people about unattended backups: through a monitor, a command, and metrics."""
