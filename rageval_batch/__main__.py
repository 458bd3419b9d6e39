"""`python -m rageval_batch` is `rageval`."""

from rageval_batch.cli import main

if __name__ == "__main__":
    main()
