"""Images as columns: each one decoded as a check, and stored as a JPEG or PNG that TensorFlow can read."""
