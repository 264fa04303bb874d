"""A diagnosis of a blog's service, its settings and this machine, by a handful of requests."""
