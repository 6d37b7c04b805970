"""`python -m zveno` is the same as `zveno`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
