"""What people read and look at: summaries, trees as text, pictures. Algorithms give all the numbers."""
