"""The local full-text index: any substring of any length, in any script, found as a search through all texts would."""
