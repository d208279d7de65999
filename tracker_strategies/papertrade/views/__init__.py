"""What an account shows: status, report, export."""
