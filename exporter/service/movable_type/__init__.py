"""Files in the import format of Movable Type, which most Japanese blog services hand out."""
