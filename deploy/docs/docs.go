// Package docs has the documents for people who run Kith, which the service shows at /docs.
package docs

import (
	"embed"
	"fmt"

	edge "github.com/kith-crm/kith/edge/server"
)

//go:embed first-hour.md public-address.md configuration.md operations.md compatibility.md imports.md devices.md format.md
var files embed.FS

// Manuals returns the pages in reading order.
func Manuals() ([]edge.Manual, error) {
	manuals := []edge.Manual{
		{Name: "first-hour", Lead: "from an empty server to a Kith that is backed up and watched"},
		{Name: "public-address", Lead: "how agents on the web reach your server: a proxy, a tunnel, a rented server"},
		{Name: "configuration", Lead: "every setting and its default"},
		{Name: "operations", Lead: "backups and restores, members, metrics and alerts, several machines"},
		{Name: "compatibility", Lead: "what an upgrade keeps and changes, and how to go back"},
		{Name: "imports", Lead: "what is read from the exports of other programs"},
		{Name: "devices", Lead: "phones and address books, by CardDAV"},
		{Name: "format", Lead: "the files of an export, field by field"},
	}
	for i := range manuals {
		text, err := files.ReadFile(manuals[i].Name + ".md")
		if err != nil {
			return nil, fmt.Errorf("read a document: %w", err)
		}
		manuals[i].Text = string(text)
	}
	return manuals, nil
}
