"""Published versions of datasets: publish, switch, prune, verify, show."""
