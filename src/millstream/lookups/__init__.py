"""Tables that streams look rows up in: given in the program, read from files, or by a function."""
