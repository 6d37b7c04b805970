"""The documents followed to the letter: procedures that the product does not use, one package a document."""
