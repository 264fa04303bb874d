"""Move a blog to its new home. Each record is made once, recognised later, and never replaces a person's work."""
