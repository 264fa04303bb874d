"""The local full-text index, which finds any substring of any length in any script."""
