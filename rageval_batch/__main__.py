"""`python -m rageval_batch` is `rageval`."""

from rageval_batch.start import main

if __name__ == "__main__":
    main()
