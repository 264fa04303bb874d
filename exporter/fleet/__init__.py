"""Many blogs: a list of them, a ledger of what was done, and one budget of requests for each host."""
