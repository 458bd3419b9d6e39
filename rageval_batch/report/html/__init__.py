"""Pages for a browser: what the store says, as sections of tables and figures, and those as HTML that loads nothing."""
