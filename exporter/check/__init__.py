"""Diagnose a blog's service, its settings and this machine."""
