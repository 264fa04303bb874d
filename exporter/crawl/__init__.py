"""From the service into the archive: what to read, in which order, and what may be believed about it."""
