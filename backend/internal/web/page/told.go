package page

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
)

// FieldSeen is the field with the id of the last security event whose notice is dismissed.
const FieldSeen = "seen"

// told is the notice of security events, in place of emails.
type told struct {
	Events []account.SecurityEvent
	// Path is where the form goes that dismisses the notice, up to the event Last; Back is the page
	// that it leads back to.
	Path, Back string
	Last       int64
}

// told returns what the member is told of on the next page: nothing if emails are sent.
func (v *Request) told() told {
	if v.MailOn || v.Login == nil || v.Login.ID == "" || v.inDemo() {
		return told{}
	}
	events, err := account.ListNotices(v.R.Context(), v.Store, v.Login, v.Device(), v.Network())
	if err != nil {
		v.Logger.WarnContext(v.R.Context(), "read notices", "error", err)
		return told{}
	}
	t := told{Events: events, Path: PathSeen}
	for _, e := range events {
		t.Last = max(t.Last, e.ID)
	}
	if v.R.Method != http.MethodPost {
		t.Back = LocalPath(v.R.URL.RequestURI())
	}
	return t
}
