package discovery

// Argument describes one argument of a tool, or one field of its answer.
type Argument = argument

// ArgumentsOf returns the arguments in a schema of the catalogue.
func ArgumentsOf(text []byte) ([]Argument, error) { return argumentsOf(text) }
