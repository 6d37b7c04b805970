"""Presentation of results: summaries, text, figures and pages. All numbers come from the algorithms."""
