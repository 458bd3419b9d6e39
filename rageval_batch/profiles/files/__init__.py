"""Profiles written as TOML files: fields, parameters, and metrics as DuckDB expressions over one row."""
