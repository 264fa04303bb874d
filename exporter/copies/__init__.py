"""Store second copies, sync them in both directions, check and read them."""
