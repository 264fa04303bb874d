"""The offline site over HTTP on this machine, with a search over all versions and a JSON API: docs/serve.md."""
