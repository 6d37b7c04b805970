"""What people read and look at: summaries, trees as text, pictures. Nothing is computed here that an algorithm could give."""
