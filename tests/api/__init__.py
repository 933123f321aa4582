"""The API at `/v1`, asked as a program asks it, in one process with a real database."""
