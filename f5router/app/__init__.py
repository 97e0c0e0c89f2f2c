"""The running router: its threads, the control loop, and the wiring of its parts."""
