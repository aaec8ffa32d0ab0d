package mcp

import "strings"

// usage returns the sentences of a description that say when to use the tool,
// each with a space before it.
func usage(description string) string {
	var text strings.Builder
	for _, sentence := range strings.SplitAfter(description, ". ") {
		sentence = strings.TrimSpace(sentence)
		if strings.HasPrefix(sentence, "Use ") {
			text.WriteString(" " + sentence)
		}
	}
	return text.String()
}
