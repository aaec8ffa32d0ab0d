package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// searchContent is the content of the page about search by meaning.
type searchContent struct {
	// Host is the remote embedding provider; empty if vectors are computed locally.
	Host, Model string
	// Allowed is set if the member allows texts to be sent there.
	Allowed bool
}

const (
	fieldHost  = "host"
	fieldAllow = "allow"
)

func (v *request) showSearch() error { return v.renderSearch(http.StatusOK, "") }

func (v *request) renderSearch(status int, said string) error {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	return v.Render(status, "search", page.Page{Title: "Similarity search", Section: page.PathSearch, Notice: said, Content: searchContent{
		Host: v.EmbeddingsHost, Model: v.EmbeddingsModel, Allowed: v.EmbeddingsHost != "" && m.EmbeddingsHost == v.EmbeddingsHost,
	}})
}

// saveSearch stores whether texts may be sent to the provider that the page named. If
// the operator has set another since, the member is asked again.
func (v *request) saveSearch() error {
	host, done := "", "sending-stopped"
	if v.Line(fieldAllow) == "yes" {
		host, done = v.Line(fieldHost), "sending-allowed"
		if host == "" || host != v.EmbeddingsHost {
			return v.renderSearch(http.StatusUnprocessableEntity, "The provider is another one by now. Nothing was changed.")
		}
	}
	if err := account.SetEmbeddingsHost(v.R.Context(), v.Store, v.Login.MemberID, host); err != nil {
		return err
	}
	if host != "" {
		v.record(account.SendingAllowed, v.Login.MemberID, "")
	}
	return v.RedirectDone(page.PathSearch, done)
}
