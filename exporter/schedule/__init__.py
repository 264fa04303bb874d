"""Backups every night: for cron, systemd, launchd and Windows, printed or installed."""
