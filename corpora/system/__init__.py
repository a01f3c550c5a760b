"""Files, bounded parsing, child processes, threads, signals, command lines."""
