"""What a body of a row is made of: values, trees, names, fragments of other messages, the line for people."""
