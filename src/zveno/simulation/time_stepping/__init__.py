"""Time stepping at the level of velocities: fixed steps through impacts, sticking, sliding and lifting."""
