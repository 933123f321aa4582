"""`python -m anchorhold`: the same program as `anchorhold`."""

from anchorhold.cli.main import main

if __name__ == "__main__":
    main()
