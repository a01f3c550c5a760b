"""Files, buckets, bounded parsing, child processes, threads, signals, command lines."""
