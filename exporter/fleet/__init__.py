"""Back up many blogs: a list of them, a ledger of attempts, and one request budget for each host."""
