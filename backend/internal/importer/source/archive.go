package source

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

// cardFiles returns the files of vCards in a ZIP, such as those of Google Takeout, which has one for each group of contacts, or of
// Apple, which has one for each contact. Of a ZIP with LinkedIn's connections or an export of ours it returns none.
func cardFiles(files []*zip.File) (cards []*zip.File) {
	for _, file := range files {
		name := strings.ToLower(file.Name)
		switch {
		case path.Base(name) == "connections.csv", isExportPart(path.Base(name)):
			return nil
		case path.Ext(name) == ".vcf" && isContent(file):
			cards = append(cards, file)
		}
	}
	return cards
}

// isContent reports whether an entry is a file that somebody put there.
func isContent(file *zip.File) bool {
	return !strings.HasPrefix(strings.ToLower(file.Name), "__macosx/") && !strings.HasSuffix(file.Name, "/") && !strings.HasPrefix(path.Base(file.Name), ".")
}

// isPicture reports whether an entry is a picture.
func isPicture(file *zip.File) bool {
	return slices.Contains([]string{".jpg", ".jpeg", ".png"}, strings.ToLower(path.Ext(file.Name))) && isContent(file)
}

// others says which files of a ZIP were not read; it is empty if all were.
func others(files, read []*zip.File) string {
	var names []string
	for _, file := range files {
		if isContent(file) && !slices.Contains(read, file) {
			names = append(names, shown(file.Name))
		}
	}
	switch few := 5; {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return "; 1 other file was not: " + names[0]
	case len(names) > few:
		return fmt.Sprintf("; %d other files were not: %s and %d more", len(names), strings.Join(names[:few], ", "), len(names)-few)
	default:
		return fmt.Sprintf("; %d other files were not: %s", len(names), strings.Join(names, ", "))
	}
}

// zipCard is a card of a ZIP, with the names of the folders that it is in.
type zipCard struct {
	text    string
	folders []string
	photo   []byte
}

// joinCards returns the cards of several files as one file. A card that is in several of them comes once. Google Takeout has a folder
// for each group, whose name becomes a category, and pictures named after the contacts.
func (f *File) joinCards(files, cardFiles []*zip.File, o *Options) ([]byte, error) {
	var cards []*zipCard
	byText, byName, read, size := map[string]*zipCard{}, map[string][]*zipCard{}, slices.Clone(cardFiles), 0
	for _, file := range cardFiles {
		content, err := expand(file)
		if err != nil {
			return nil, err
		}
		if size += len(content); size > MaxBytes {
			return nil, fault.New(fault.Invalid, "the vCards of the ZIP are larger than 10 MiB when they are unpacked; import a part of them")
		}
		for _, one := range splitCards(content) {
			card := byText[one]
			if card == nil {
				card = &zipCard{text: one}
				byText[one], cards = card, append(cards, card)
				name := formattedName(one)
				byName[name] = append(byName[name], card)
			}
			card.folders = append(card.folders, groupFolder(file.Name))
		}
	}
	if len(cards) == 0 {
		return nil, fault.New(fault.Invalid, "the files of the ZIP hold no vCard: none begins with BEGIN:VCARD")
	}
	for _, file := range files {
		named := byName[text.Fold(strings.TrimSuffix(path.Base(file.Name), path.Ext(file.Name)))]
		if !isPicture(file) || len(named) != 1 {
			continue
		}
		picture, err := expand(file)
		if err != nil || size+2*len(picture) > MaxBytes {
			continue // it is among the files that were not read
		}
		size, named[0].photo, read = size+2*len(picture), picture, append(read, file)
	}
	var b bytes.Buffer
	for _, card := range cards {
		card.write(&b)
	}
	o.Filename = "contacts.vcf"
	f.warn(fmt.Sprintf("Files of the ZIP that were read: %d%s.", len(read), others(files, read)))
	return b.Bytes(), nil
}

// splitCards returns the cards of a file, each from its first to its last line.
func splitCards(content []byte) (cards []string) {
	var lines []string
	depth := 0
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(strings.TrimPrefix(line, "\ufeff"), "\r\n")
		if isEdge([]byte(line), "BEGIN:VCARD") {
			depth++
		}
		if depth > 0 {
			lines = append(lines, line)
		}
		if depth > 0 && isEdge([]byte(line), "END:VCARD") {
			if depth--; depth == 0 {
				cards, lines = append(cards, strings.Join(lines, "\r\n")), nil
			}
		}
	}
	if len(lines) > 0 { // a card without an end, about which its reader warns
		cards = append(cards, strings.Join(lines, "\r\n"))
	}
	return cards
}

// formattedName returns the folded name of a card as it is shown.
func formattedName(card string) string {
	for line := range strings.SplitSeq(card, "\r\n") {
		if name, found := strings.CutPrefix(line, "FN:"); found {
			return text.Fold(text.Line(strings.NewReplacer(`\,`, ",", `\;`, ";", `\\`, `\`).Replace(name)))
		}
	}
	return ""
}

// groupFolder returns the contact group that a file of Google Takeout is in, which is the name of its folder. It is empty for the folders of
// all contacts and for other files.
func groupFolder(name string) string {
	folder := path.Base(path.Dir(name))
	own := strings.TrimSuffix(path.Base(name), path.Ext(name))
	if own != folder || slices.Contains([]string{"all contacts", "my contacts"}, strings.ToLower(own)) {
		return "" // Google names the file after the group
	}
	return own
}

// write writes a card with what the ZIP says beside it.
func (c *zipCard) write(b *bytes.Buffer) {
	body, end := c.text, ""
	if at := strings.LastIndex(c.text, "\r\n"); at >= 0 && isEdge([]byte(c.text[at+2:]), "END:VCARD") {
		body, end = c.text[:at], c.text[at+2:]
	}
	b.WriteString(body + "\r\n")
	escape := strings.NewReplacer(`\`, `\\`, ",", `\,`, ";", `\;`)
	for i, folder := range c.folders {
		if folder != "" && !slices.Contains(c.folders[:i], folder) {
			b.WriteString("CATEGORIES:" + escape.Replace(text.Line(folder)) + "\r\n")
		}
	}
	if c.photo != nil {
		b.WriteString("PHOTO;ENCODING=b:" + base64.StdEncoding.EncodeToString(c.photo) + "\r\n")
	}
	if end != "" {
		b.WriteString(end + "\r\n")
	}
}
