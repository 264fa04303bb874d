"""Capture of a blog's public pages as they are: scope, frontier, the run, and its events."""
