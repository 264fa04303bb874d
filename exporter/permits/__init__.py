"""One budget of requests for many crawlers, in processes of their own and on machines of their own."""
