"""Captures: the public pages of blogs, recorded as their servers send them."""
