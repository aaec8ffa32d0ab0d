package signintest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const keyID = "key-1"

// The provider's key, and an unpublished one; generated once, since that is slow.
var (
	ownKey     = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
	foreignKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
)

func publicKey() jose.JSONWebKey {
	key, err := ownKey()
	if err != nil {
		return jose.JSONWebKey{}
	}
	return jose.JSONWebKey{Key: &key.PublicKey, KeyID: keyID, Algorithm: string(jose.RS256), Use: "sig"}
}

// authorize redirects the browser at once: the person is signed in and agrees.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "this is no request of ours: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	s.mu.Lock()
	s.codes[code] = request{s.person, q.Get("redirect_uri"), q.Get("nonce"), q.Get("code_challenge")}
	s.mu.Unlock()
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.URL}}
	if lie := s.lying().Answer; lie != nil {
		lie(answer)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != url.QueryEscape(ClientID) || secret != url.QueryEscape(ClientSecret) {
		write(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	s.mu.Lock()
	asked, ok := s.codes[r.PostFormValue("code")]
	delete(s.codes, r.PostFormValue("code"))
	s.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || asked.redirectURI != r.PostFormValue("redirect_uri") || asked.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	idToken, err := s.idToken(asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	access := rand.Text()
	s.mu.Lock()
	s.tokens["Bearer "+access] = asked.person
	s.mu.Unlock()
	write(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": idToken})
}

func (s *Server) idToken(asked request) (string, error) {
	now := time.Now()
	claims := map[string]any{
		"iss": s.URL, "sub": asked.person.Subject, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(lifetime).Unix(), "nonce": asked.nonce,
		"email": asked.person.Email, "email_verified": asked.person.Verified,
	}
	lies := s.lying()
	if lies.Claims != nil {
		lies.Claims(claims)
	}
	key, err := ownKey()
	if err != nil {
		return "", err
	}
	token, err := sign(jose.RS256, key, claims)
	if lies.Token != nil {
		token = lies.Token(token)
	}
	return token, err
}

// Resign returns a token with the same claims, signed by a key that the provider
// did not publish.
func Resign(token string) string {
	key, err := foreignKey()
	if err != nil {
		return err.Error()
	}
	return resign(token, jose.RS256, key)
}

// ResignSymmetric returns a token with the same claims, signed with HS256 and the
// client's secret.
func ResignSymmetric(token string) string {
	return resign(token, jose.HS256, []byte(ClientSecret+"                "))
}

func resign(token string, algorithm jose.SignatureAlgorithm, key any) string {
	parsed, err := jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return err.Error()
	}
	var claims map[string]any
	if err := json.Unmarshal(parsed.UnsafePayloadWithoutVerification(), &claims); err != nil {
		return err.Error()
	}
	if token, err = sign(algorithm, key, claims); err != nil {
		return err.Error()
	}
	return token
}

func sign(algorithm jose.SignatureAlgorithm, key any, claims map[string]any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, nil)
	if err != nil {
		return "", fmt.Errorf("make signer: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
