"""Document 002, the method of separate bodies (the articulated-body algorithm, Vereshchagin 1974)."""
