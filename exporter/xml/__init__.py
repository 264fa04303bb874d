"""XML of strangers: one reader that goes past its faults."""
