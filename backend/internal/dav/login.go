package dav

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/observability/logging"
)

// The paths of Nextcloud at which a program such as DAVx⁵ signs in with a browser (login flow, version 2) and then looks for the address
// book.
const (
	pathLogin     = "/index.php/login/v2"
	pathPoll      = pathLogin + "/poll"
	pathNextcloud = "/remote.php/dav"
)

// maxPoll is the maximum size of the form with which a program asks whether it is allowed, in bytes.
const maxPoll = 4 << 10

// mountLogin registers the paths of Nextcloud.
func (s *Server) mountLogin(mux *http.ServeMux) {
	mux.HandleFunc("POST "+pathLogin, s.beginLogin)
	mux.HandleFunc("POST "+pathPoll, s.pollLogin)
	toRoot := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.BaseURL+Root, http.StatusPermanentRedirect) // clients repeat the method after 308, not after 301
	}
	mux.HandleFunc(pathNextcloud, toRoot)
	mux.HandleFunc(pathNextcloud+"/{$}", toRoot)
}

// loginBegun is the answer to a program that asks to be a device.
type loginBegun struct {
	Poll struct {
		Token    string `json:"token"`
		Endpoint string `json:"endpoint"`
	} `json:"poll"`
	// Login is the address to open in a browser.
	Login string `json:"login"`
}

// loginDone is the answer to a poll after a member has allowed the program: the account and its new app password.
type loginDone struct {
	Server      string `json:"server"`
	LoginName   string `json:"loginName"`
	AppPassword string `json:"appPassword"`
}

// beginLogin lets a program ask a member to make it a device. It needs no credential.
func (s *Server) beginLogin(w http.ResponseWriter, r *http.Request) {
	if s.plain {
		s.failLogin(w, r, errPlain)
		return
	}
	secret, page, err := account.BeginDeviceLogin(r.Context(), s.Store, r.UserAgent(), account.CoarseAddress(s.ClientAddress(r)))
	if err != nil {
		s.failLogin(w, r, err)
		return
	}
	var begun loginBegun
	begun.Poll.Token, begun.Poll.Endpoint = secret, s.BaseURL+pathPoll
	begun.Login = s.BaseURL + account.PathDeviceLogin + "?" + url.Values{account.FieldDeviceLogin: {page}}.Encode()
	s.answerLogin(w, r, http.StatusOK, begun)
}

// pollLogin gives a program its app password once a member has allowed it, and until then answers 404, as Nextcloud does.
func (s *Server) pollLogin(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxPoll)
	if err := r.ParseForm(); err != nil {
		s.failLogin(w, r, fault.New(fault.Invalid, "send the token in a form"))
		return
	}
	username, password, err := account.FinishDeviceLogin(r.Context(), s.Store, r.PostForm.Get("token"))
	if err != nil {
		s.failLogin(w, r, err)
		return
	}
	s.answerLogin(w, r, http.StatusOK, loginDone{s.BaseURL, username, password})
}

// failLogin answers a request of the login flow that failed.
func (s *Server) failLogin(w http.ResponseWriter, r *http.Request, err error) {
	refused, known := errors.AsType[*refusal](err)
	switch {
	case known:
	case fault.Is(err, fault.Exhausted):
		w.Header().Set("Retry-After", strconv.Itoa(int(account.DeviceLoginLifetime.Seconds())))
		refused = &refusal{status: http.StatusTooManyRequests, text: err.Error()}
	default:
		refused = s.refusalOf(r, err)
	}
	if refused.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	s.answerLogin(w, r, refused.status, map[string]string{"message": refused.text})
}

func (s *Server) answerLogin(w http.ResponseWriter, r *http.Request, status int, answer any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		logging.Fail(r.Context(), s.Logger, slog.LevelWarn, "login of a device", err.Error())
	}
}
