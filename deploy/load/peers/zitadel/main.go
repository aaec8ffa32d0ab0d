// Command zitadel is the example provider of zitadel/oidc with its storage in memory. It
// logs in once for each refresh token that GET /seed?n=N returns.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/deploy/load/peers/data"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	data.Load()
	base := "http://" + *data.Addr
	storage.RegisterClients(storage.WebClient("web", "secret", base+"/callback"))
	provider := exampleop.SetupServer(base+"/", storage.NewStorage(storage.NewUserStore(base+"/")), slog.New(slog.DiscardHandler), false)
	mux := http.NewServeMux()
	mux.Handle("/", provider)
	mux.HandleFunc("GET /seed", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		tokens := make([]string, n)
		for i := range tokens {
			var err error
			if tokens[i], err = login(base); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		_ = json.NewEncoder(w).Encode(tokens)
	})
	data.Serve(mux)
}

// login runs the code flow and returns the refresh token.
func login(base string) (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	var code, request string
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/callback") {
			code = r.URL.Query().Get("code")
			return http.ErrUseLastResponse
		}
		if id := r.URL.Query().Get("authRequestID"); id != "" {
			request = id
		}
		return nil
	}}
	send := func(method, path string, form url.Values) (string, error) {
		target, body := base+path, strings.NewReader(form.Encode())
		if method == http.MethodGet {
			target, body = target+"?"+form.Encode(), strings.NewReader("")
		}
		req, err := http.NewRequest(method, target, body)
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if path == "/oauth/token" {
			req.SetBasicAuth("web", "secret")
		}
		res, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer func() { _ = res.Body.Close() }()
		answer, err := io.ReadAll(res.Body)
		return string(answer), err
	}
	callback := base + "/callback"
	if _, err := send(http.MethodGet, "/auth", url.Values{"client_id": {"web"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid offline_access"}, "state": {"s"}}); err != nil {
		return "", err
	}
	if page, err := send(http.MethodPost, "/login/username", url.Values{"username": {"test-user2"}, "password": {"verysecure"}, "id": {request}}); err != nil || code == "" {
		return "", fmt.Errorf("no code for %q: %.300s: %w", request, page, err)
	}
	answer, err := send(http.MethodPost, "/oauth/token", url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}})
	if err != nil {
		return "", err
	}
	var tokens struct {
		Refresh string `json:"refresh_token"`
	}
	if err := json.Unmarshal([]byte(answer), &tokens); err != nil || tokens.Refresh == "" {
		return "", fmt.Errorf("no refresh token: %.300s: %w", answer, err)
	}
	return tokens.Refresh, nil
}
