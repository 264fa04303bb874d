"""Signing in at a service, and staying signed in."""
