"""Schedule nightly backups with cron, systemd, launchd or Task Scheduler."""
