"""What must not leave the machine, and how it is taken out of what does."""
