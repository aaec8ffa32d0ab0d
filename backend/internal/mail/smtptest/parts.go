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

// Parts returns the email's text and HTML, decoded.
func (e Email) Parts(t testing.TB) (text, html string) {
	t.Helper()
	media, params, err := mime.ParseMediaType(e.Header.Get("Content-Type"))
	if err != nil || media != "multipart/alternative" {
		t.Fatalf("the email is %q: %v", e.Header.Get("Content-Type"), err)
	}
	parts := multipart.NewReader(strings.NewReader(e.Body), params["boundary"])
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
