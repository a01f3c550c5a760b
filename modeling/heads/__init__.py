"""What is predicted from the rows that an encoder gives."""
