package source

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// mostEntries is how many files a ZIP may hold; LinkedIn's have some fifty.
const mostEntries = 10_000

// unpack returns the file within a ZIP, or data itself.
func (f *File) unpack(data []byte, o *Options) ([]byte, error) {
	if len(data) > MaxBytes {
		return nil, fault.New(fault.Invalid, "the file is larger than 10 MiB; split it into several files")
	}
	if !bytes.HasPrefix(data, []byte("PK\x03\x04")) && !bytes.HasPrefix(data, []byte("PK\x05\x06")) {
		return data, refuse(data)
	}
	// The directory is read as a whole, so it is counted first.
	if bytes.Count(data, []byte("PK\x01\x02")) > mostEntries {
		return nil, fault.New(fault.Invalid, "the ZIP holds more than %d files", mostEntries)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // no entry is written anywhere
		return nil, fault.Wrap(err, fault.Invalid, "the ZIP is damaged; export or download it again")
	}
	entry, err := choose(archive.File)
	if err != nil {
		return nil, err
	}
	content, err := expand(entry)
	if err != nil {
		return nil, err
	}
	o.Filename = path.Base(entry.Name)
	f.warn(fmt.Sprintf("Of the ZIP, %s was read.", shown(entry.Name)))
	if bytes.HasPrefix(content, []byte("PK\x03\x04")) {
		return nil, fault.New(fault.Invalid, "%s in the ZIP is a ZIP itself; unpack it first", shown(entry.Name))
	}
	return content, refuse(content)
}

// choose finds the file of a ZIP that holds people: LinkedIn's connections, the
// people of an export of ours when one import takes them all, or the only one of a
// kind that can be read.
func choose(files []*zip.File) (*zip.File, error) {
	var found, ours []*zip.File
	for _, file := range files {
		name := strings.ToLower(file.Name)
		switch {
		case path.Base(name) == "connections.csv":
			return file, nil
		case name == "[content_types].xml" || strings.HasPrefix(name, "xl/"):
			return nil, fault.New(fault.Invalid, "this is an Excel workbook; save it as CSV (UTF-8) there")
		case name == "content.xml" || name == "index/document.iwa":
			return nil, fault.New(fault.Invalid, "this is a spreadsheet; save it as CSV there")
		case strings.HasPrefix(name, "__macosx/"):
		case ourPart(path.Base(name)):
			found, ours = append(found, file), append(ours, file)
		case path.Ext(name) == ".csv" || path.Ext(name) == ".vcf" || path.Ext(name) == ".json":
			found = append(found, file)
		}
	}
	if len(ours) == 1 {
		return ours[0], nil
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fault.New(fault.Invalid, "the ZIP holds no Connections.csv and no other file of contacts")
	}
	return nil, fault.New(fault.Invalid, "the ZIP holds %d files that may be contacts and no Connections.csv; unpack it and import one of them", len(found))
}

// ourPart tells the documents of an export of ours: contacts.json, contacts-2.json …
func ourPart(name string) bool {
	ours, err := path.Match("contacts-[0-9]*.json", name)
	return name == "contacts.json" || err == nil && ours
}

// expand unpacks an entry, whose size is taken from what comes out and not from
// what it says of itself.
func expand(entry *zip.File) ([]byte, error) {
	tooLarge := fault.New(fault.Invalid, "%s is larger than 10 MiB when it is unpacked", shown(entry.Name))
	const encrypted = 1
	switch {
	case entry.UncompressedSize64 > MaxBytes:
		return nil, tooLarge
	case entry.Flags&encrypted != 0:
		return nil, fault.New(fault.Invalid, "the ZIP is protected by a password; unpack it first")
	}
	r, err := entry.Open()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the ZIP is packed in a way that cannot be read; unpack it first")
	}
	defer r.Close() //nolint:errcheck // it reads from memory
	content := bytes.NewBuffer(make([]byte, 0, entry.UncompressedSize64))
	n, err := io.Copy(content, io.LimitReader(r, MaxBytes+1))
	switch {
	case n > MaxBytes:
		return nil, tooLarge
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "%s in the ZIP is damaged; export or download it again", shown(entry.Name))
	}
	return content.Bytes(), nil
}
