"""``python -m bayestrim`` is the command line."""

from bayestrim.cli import main

if __name__ == "__main__":
    main()
