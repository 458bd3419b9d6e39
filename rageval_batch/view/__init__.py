"""The viewer: the pages of the report, live over a whole store, for one person on this machine. It only reads."""
