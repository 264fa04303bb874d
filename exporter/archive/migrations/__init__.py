"""Steps from an older format of the archive to the current one."""
