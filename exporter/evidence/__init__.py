"""Seals: proofs that an archive existed at a date and was not altered since, and their check without a network."""
