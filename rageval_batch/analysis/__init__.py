"""What a store says: the DuckDB session, summaries, gates, comparisons, drift, benchmarks."""
