"""Claims jobs, runs their handlers, keeps their leases and reports how they ended. It knows no database."""
