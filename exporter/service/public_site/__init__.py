"""A blog at a public address: feeds, sitemaps and pages."""
