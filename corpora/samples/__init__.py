"""Files to try the commands on, which come with every installation."""
