"""Points reached by three joints in one compiled program."""
