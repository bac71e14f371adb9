"""What the commands share: files, values, programs, the console, the parsers' grammar."""
