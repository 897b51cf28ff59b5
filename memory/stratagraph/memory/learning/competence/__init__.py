"""Skills learned from episodes that used the same tools. No I/O except in `stage`."""
