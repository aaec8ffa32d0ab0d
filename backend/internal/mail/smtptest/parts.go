package smtptest

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"strings"
	"testing"
)

// Parts returns the letter's text and HTML, decoded.
func (l Letter) Parts(t testing.TB) (text, html string) {
	t.Helper()
	media, params, err := mime.ParseMediaType(l.Header.Get("Content-Type"))
	if err != nil || media != "multipart/alternative" {
		t.Fatalf("the letter is %q: %v", l.Header.Get("Content-Type"), err)
	}
	parts := multipart.NewReader(strings.NewReader(l.Body), params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return text, html
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			html = string(body)
		} else {
			text = string(body)
		}
	}
}
