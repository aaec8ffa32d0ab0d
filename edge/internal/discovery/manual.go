package discovery

import (
	"regexp"
	"slices"
	"strings"
)

// Manual is a page for people who run the service.
type Manual struct {
	// Name is the last part of its path below /docs, and the name of its file without ".md".
	Name string
	// Lead says what it is about, in lower case and without a full stop.
	Lead string
	// Text is Markdown that begins with the title. Links to other files are relative.
	Text string
}

// Title returns the title that the text begins with.
func (m Manual) Title() string {
	title, _, _ := strings.Cut(strings.TrimPrefix(m.Text, "# "), "\n")
	return title
}

var fileLink = regexp.MustCompile(`\[([^\[\]]+)\]\(([^):\s]+)\)`)

// manualText returns the text of a manual with links to the pages here. Links to files that have no page here become their
// texts.
func (s *site) manualText(m Manual) string {
	return fileLink.ReplaceAllStringFunc(m.Text, func(found string) string {
		parts := fileLink.FindStringSubmatch(found)
		file, heading, hasHeading := strings.Cut(parts[2], "#")
		name, isPage := strings.CutSuffix(file, ".md")
		switch {
		case file == "":
			return found // a heading of the same page
		case !isPage || !slices.ContainsFunc(s.Manuals, func(m Manual) bool { return m.Name == name }):
			return parts[1]
		case hasHeading:
			return "[" + parts[1] + "](" + pathDocs + "/" + name + "#" + heading + ")"
		}
		return "[" + parts[1] + "](" + pathDocs + "/" + name + ")"
	})
}
