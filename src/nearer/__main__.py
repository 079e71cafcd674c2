"""`python -m nearer` is the command `nearer`."""

from nearer.cli import main

if __name__ == "__main__":
    main()
