"""Backups every night: what cron, systemd, launchd and Windows are told, and how they are told it."""
