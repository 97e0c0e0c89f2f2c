"""python -m f5router: runs the command f5router."""

from f5router.cli.main import main

if __name__ == "__main__":
    main(prog_name="f5router")
