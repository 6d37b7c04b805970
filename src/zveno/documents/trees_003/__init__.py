"""Document 003, mechanisms with a tree structure, a floating base and external constraints."""
