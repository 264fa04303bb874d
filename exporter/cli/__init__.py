"""The command line: options in, exit codes out, one file for each command."""
