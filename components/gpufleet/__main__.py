"""`python -m gpufleet`: the program `gpufleet`."""

from gpufleet.cli import main

if __name__ == "__main__":
    main()
