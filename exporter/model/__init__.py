"""The records of the service, typed, and what is assumed about them where its document is silent. Pure."""
