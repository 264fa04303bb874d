"""Untrusted HTML made into trees, safe HTML, links, text and Markdown. Pure."""
