"""One file a kind of measurement. A new kind is a new file here: nothing else needs to know of it."""
