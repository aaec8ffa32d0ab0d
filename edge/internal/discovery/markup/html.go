package markup

import (
	_ "embed"
	"fmt"
	"html/template"
)

//go:embed blocks.html
var blocksSource string

// Define adds the template "document" to a set: it writes a Document as the
// inside of a page's main part. Tables can be scrolled with the keyboard. It fails
// only if the template that was compiled in is damaged.
func Define(set *template.Template) (*template.Template, error) {
	set, err := set.Parse(blocksSource)
	if err != nil {
		return nil, fmt.Errorf("parse blocks: %w", err)
	}
	return set, nil
}
