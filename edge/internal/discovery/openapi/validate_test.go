package openapi_test

import (
	"bytes"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/kith-crm/kith/edge/internal/discovery/openapi"
)

// validate checks a document, its examples and its formats with kin-openapi.
func validate(t *testing.T, body []byte) error {
	t.Helper()
	return load(t, body).Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation())
}

func TestValid(t *testing.T) {
	t.Parallel()
	for name, change := range variants() {
		if err := validate(t, build(t, change)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExamplesAreValidated: kin-openapi rejects a wrong example in each place that can have one.
func TestExamplesAreValidated(t *testing.T) {
	t.Parallel()
	whole := build(t, nil)
	for what, change := range map[string][2]string{
		"a member":           {`"name":"Robin Castellane","object":"human"`, `"name":"Robin Castellane","object":"robot"`},
		"a problem":          {`"status":404`, `"status":"404"`},
		"a result":           {`"isError":false`, `"isError":"no"`},
		"a body":             {`"method":"ping"}`, `"method":"pong"}`},
		"a form":             {`"grant_type":"refresh_token"`, `"grant_type":"password"`},
		"a parameter":        {`"example":"S256"`, `"example":"plain"`},
		"a header":           {`"example":119`, `"example":-1`},
		"a member of a list": {`"open_to":["introductions"`, `"open_to":[1`},
	} {
		if !bytes.Contains(whole, []byte(change[0])) {
			t.Errorf("%s: %s is not there", what, change[0])
		}
		if err := validate(t, bytes.ReplaceAll(whole, []byte(change[0]), []byte(change[1]))); err == nil {
			t.Errorf("%s: a wrong example is accepted", what)
		}
	}
}

// TestSameDocument: two servers with the same options have the same document.
func TestSameDocument(t *testing.T) {
	t.Parallel()
	if !bytes.Equal(build(t, nil), build(t, nil)) {
		t.Error("two servers with the same options have different documents")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*openapi.Options){
		"base URL":  func(o *openapi.Options) { o.BaseURL = "" },
		"version":   func(o *openapi.Options) { o.Version = "" },
		"catalogue": func(o *openapi.Options) { o.Catalog = nil },
		"protocols": func(o *openapi.Options) { o.Protocols = nil },
		"routes":    func(o *openapi.Options) { o.Routes = nil },
	} {
		o := options(t)
		change(&o)
		if _, err := openapi.New(o); err == nil {
			t.Errorf("without %s: no error", what)
		}
	}
}

// BenchmarkNew measures how long a start takes to make the document.
func BenchmarkNew(b *testing.B) {
	o := options(b)
	for b.Loop() {
		if _, err := openapi.New(o); err != nil {
			b.Fatal(err)
		}
	}
}
