"""The same pure function on a cluster: the reading, scoring and writing of `runs`, spread over tasks."""
