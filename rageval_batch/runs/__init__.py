"""Score and keep: batches, sweeps, the store, the files of a commit, stored inputs."""
