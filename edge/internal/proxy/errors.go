package proxy

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// OAuthErrors writes errors in the format of RFC 6749, section 5.2.
type OAuthErrors struct{}

type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// WriteError implements httpapi.ErrorWriter.
func (OAuthErrors) WriteError(w http.ResponseWriter, r *http.Request, e httpapi.Error) {
	status := e.Code.Status()
	answer := oauthError{Error: "invalid_request", Description: e.Detail}
	switch {
	case status >= http.StatusInternalServerError:
		answer.Error = "temporarily_unavailable"
	case e.Code == httpapi.MalformedRequest && r.URL.Path == pathRegister && inBody(e.Fields):
		answer.Error = "invalid_client_metadata" // RFC 7591, section 3.2.2
	}
	body, err := json.Marshal(answer)
	if err != nil {
		status = http.StatusInternalServerError
	}
	httpapi.WriteJSON(w, r, status, body)
}

// inBody reports whether the fields are in a JSON body, and not in a query string.
func inBody(fields []httpapi.Field) bool {
	return len(fields) > 0 && fields[0].Field != route.FieldQuery
}
