"""Route statuses: queued, written, and cleaned up."""
