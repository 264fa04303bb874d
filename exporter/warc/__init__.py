"""Web archives: records in WARC files (ISO 28500, WARC 1.1), and their index in CDXJ."""
