package openapi

import "github.com/kith-crm/kith/proto/catalog"

// Committed returns openapi.json.
func Committed() []byte { return document }

// Described returns the paths and methods that the source describes.
func Described(c *catalog.Catalog, protocols []string) (map[string][]string, error) {
	root, err := load(newVariables(c, protocols, nil))
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

// Merge merges two parts of a source, and Fill fills variables into one.
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

// Fill returns a part with the variables in it, as JSON.
func Fill(c *catalog.Catalog, protocols []string, part string) (string, error) {
	n, err := parse([]byte(part))
	if err == nil {
		err = newVariables(c, protocols, nil).fill(n)
	}
	if err == nil {
		err = fillProblems(n, exampleBaseURL)
	}
	if err != nil {
		return "", err
	}
	text, err := encode(n)
	return string(text), err
}
