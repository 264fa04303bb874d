"""Reading the blog service: transport, throttling, retries, the envelope, paging and the five operations."""
