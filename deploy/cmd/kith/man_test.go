package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestManualPage(t *testing.T) {
	t.Parallel()
	var page, errors bytes.Buffer
	if code := run(t.Context(), []string{"man"}, nil, &page, &errors); code != 0 || errors.Len() > 0 {
		t.Fatalf("%d %s", code, &errors)
	}
	for _, want := range []string{".TH KITH 1", ".SH OPTIONS", "--base-url", "backup", "member create", "token revoke", "doctor"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}
