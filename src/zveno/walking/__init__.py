"""Walking: support polygons, footholds on terrain, gaits of trees with feet."""
