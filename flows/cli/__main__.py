"""`python -m flows.cli` is `sdcert`."""

from flows.cli import main

if __name__ == "__main__":
    main()
