"""AtomPub: Hatena Blog and livedoor Blog."""
