package openapi

// Described returns the paths and methods that the source describes.
func Described(o Options) (map[string][]string, error) {
	document, err := o.load()
	described := map[string][]string{}
	for path := range at(document, "paths") {
		for name := range at(document, "paths", path) {
			if name != "parameters" {
				described[path] = append(described[path], name)
			}
		}
	}
	return described, err
}

// Merge merges two parts of a source.
func Merge(o Options, a, b string) error {
	first, err := o.variables().parse([]byte(a))
	if err != nil {
		return err
	}
	second, err := o.variables().parse([]byte(b))
	if err != nil {
		return err
	}
	return merge(first, second)
}

// Fill returns a part of a source with the variables in it.
func Fill(o Options, part string) (map[string]any, error) { return o.variables().parse([]byte(part)) }
