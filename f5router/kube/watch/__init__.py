"""List and watch: reflectors and the store that they fill."""
