package photos

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// URI returns the picture as a data: URI (RFC 2397), as vCards and our own exports hold it.
func (i Image) URI() string {
	return "data:" + i.Media + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// URI returns the largest size as a data: URI.
func (p *Photo) URI() string { return p.images[0].URI() }

// Inline reports whether a URI is a data: URI in base64.
func Inline(uri string) bool {
	const longest = 200
	head, _, found := strings.Cut(uri[:min(len(uri), longest)], ",")
	head = strings.ToLower(head)
	return found && strings.HasPrefix(head, "data:") && strings.HasSuffix(head, ";base64")
}

// ReadURI reads a photo from a data: URI in base64. It fails with fault.Invalid as Read does, and
// for any other URI: nothing is fetched.
func ReadURI(ctx context.Context, uri string) (*Photo, error) {
	_, encoded, _ := strings.Cut(uri, ",")
	if !Inline(uri) {
		return nil, fault.New(fault.Invalid, "the picture is not in the file, and Kith fetches no pictures from other sites")
	}
	if base64.RawStdEncoding.DecodedLen(len(encoded)) > 2*MaxBytes {
		return nil, fault.New(fault.Invalid, "the picture is larger than %d MB", MaxBytes>>20)
	}
	encoded = strings.TrimRight(strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(encoded), "=")
	data, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the picture is damaged or incomplete")
	}
	return Read(ctx, data)
}
