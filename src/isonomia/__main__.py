"""``python -m isonomia``: the command, also where its script is not on the path."""

from isonomia.cli import main

if __name__ == "__main__":
    main()
