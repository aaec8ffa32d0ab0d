package openapi

// Described returns the paths and methods that the source describes.
func Described(o Options) (map[string][]string, error) {
	root, err := load(newFacts(o))
	described := map[string][]string{}
	for path, item := range members(child(root, "paths")) {
		for name := range members(item) {
			if name != "parameters" {
				described[path] = append(described[path], name)
			}
		}
	}
	return described, err
}

// Merge merges two parts of a source, and Fill fills facts into one.
func Merge(a, b string) error {
	first, err := parse([]byte(a))
	if err != nil {
		return err
	}
	second, err := parse([]byte(b))
	if err != nil {
		return err
	}
	return merge(first, second)
}

// Fill returns a part with the facts in it, as JSON.
func Fill(o Options, part string) (string, error) {
	n, err := parse([]byte(part))
	if err == nil {
		err = newFacts(o).fill(n)
	}
	if err == nil {
		err = fillProblems(n, o.BaseURL)
	}
	if err != nil {
		return "", err
	}
	text, err := encode(n)
	return string(text), err
}
