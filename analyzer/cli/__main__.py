"""`python -m analyzer.cli`: the program without its console script."""

from analyzer.cli import main

if __name__ == "__main__":
    main()
