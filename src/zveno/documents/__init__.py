"""What follows the source documents to the letter, one package a document; the product uses none of it."""
