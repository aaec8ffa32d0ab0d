package page

import (
	"context"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	organizev1 "github.com/kith-crm/kith/proto/gen/kith/organize/v1"
)

// Write refuses a read-only member before it calls a handler, or the database.
func TestWriteRefusesReadOnlyMember(t *testing.T) {
	t.Parallel()
	pages, err := ParsePages()
	if err != nil {
		t.Fatal(err)
	}
	site, err := New(Config{BaseURL: "https://kith.example"}, pages)
	if err != nil {
		t.Fatal(err)
	}
	m := &Member{Request: &Request{Site: site}, Ctx: t.Context(), Principal: &tenant.Principal{ReadOnly: true}, Zone: time.UTC}
	_, wrong, err := Write(m, "test", &organizev1.RenameTagRequest{From: "a", To: "b"}, func(context.Context, *db.Tx, *organizev1.RenameTagRequest) (*organizev1.RenameTagResponse, error) {
		t.Error("the handler is called")
		return nil, nil
	})
	if !fault.Is(err, fault.ReadOnly) || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
}

func TestTurnOff(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`<form method="get" action="/a"><input name="q"><button>Go</button></form>`: `<form method="get" action="/a"><input name="q"><button>Go</button></form>`,
		`<p>&lt;form method="post"&gt;<input></p>`:                                  `<p>&lt;form method="post"&gt;<input></p>`,
		"<form class=\"c\" method=\"post\" action=\"/a\">\n<input name=\"x\"><select name=\"s\"></select><textarea></textarea><button name=\"act\">Go</button></form><button>Other</button>": "<form class=\"c\" method=\"post\">\n<input disabled name=\"x\"><select disabled name=\"s\"></select><textarea disabled></textarea><button disabled aria-describedby=\"demo\" title=\"Nothing can be changed in the demo.\" name=\"act\">Go</button></form><button>Other</button>",
	} {
		if got := string(turnOff([]byte(document), "Nothing can be changed in the demo.")); got != want {
			t.Errorf("%s becomes\n%s", document, got)
		}
	}
}
