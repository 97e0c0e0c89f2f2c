"""python -m f5router: the same as the command f5router."""

from f5router.cli.main import main

if __name__ == "__main__":
    main(prog_name="f5router")
