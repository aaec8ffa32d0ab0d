// Package passkeytest is an authenticator for tests, with the browser that talks to it. Unlike real ones,
// it also does what an attacker's would.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
)

// The flags of authenticator data (WebAuthn Level 3, section 6.1).
const (
	Present  = 0x01
	Verified = 0x04
	attested = 0x40
)

// Authenticator holds one passkey.
type Authenticator struct {
	// Origin is that of the site in the browser, Host the host that the passkey belongs to.
	Origin, Host string
	// Count is the counter of the next answer. It grows by one with each, unless Still is set.
	Count uint32
	Still bool
	// Flags are Present and Verified, unless a test removes one.
	Flags byte

	// Key is the COSE key that a new passkey is said to have; nil means the authenticator's own.
	Key any

	key    *ecdsa.PrivateKey
	id     []byte
	handle []byte
}

// New returns an authenticator without a passkey, in a browser that shows the site at an origin of a host.
func New(t testing.TB, origin, host string) *Authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	return &Authenticator{Origin: origin, Host: host, Count: 1, Flags: Present | Verified, key: key, id: id}
}

// Clone returns a copy with its own counter.
func (a *Authenticator) Clone() *Authenticator {
	c := *a
	return &c
}

// Forget makes the authenticator answer without the user handle, as one without discoverable
// credentials may do.
func (a *Authenticator) Forget() { a.handle = nil }

// options are those of both ceremonies, as far as the authenticator reads them.
type options struct {
	Challenge string `json:"challenge"`
	User      struct {
		ID string `json:"id"`
	} `json:"user"`
}

// ChallengeOf returns the challenge in the options of a ceremony.
func ChallengeOf(t testing.TB, document string) string {
	t.Helper()
	var o options
	if err := json.Unmarshal([]byte(document), &o); err != nil || o.Challenge == "" {
		t.Fatalf("these are no options: %v: %s", err, document)
	}
	return o.Challenge
}

// Create makes the passkey for the options of navigator.credentials.create, and returns the answer.
func (a *Authenticator) Create(t testing.TB, document string) string {
	t.Helper()
	var o options
	if err := json.Unmarshal([]byte(document), &o); err != nil || o.User.ID == "" {
		t.Fatalf("these are no options: %v: %s", err, document)
	}
	var err error
	if a.handle, err = base64.RawURLEncoding.DecodeString(o.User.ID); err != nil {
		t.Fatal(err)
	}
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	key := a.Key
	if key == nil {
		key = PointKey(point[1:33], point[33:])
	}
	cose, err := webauthncbor.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	data := a.data(attested)
	data = append(data, make([]byte, 16)...)                      // the AAGUID
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id))) //nolint:gosec // 32
	data = append(append(data, a.id...), cose...)
	object, err := webauthncbor.Marshal(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": data})
	if err != nil {
		t.Fatal(err)
	}
	return a.answer(t, map[string]any{"clientDataJSON": a.client(t, "webauthn.create", o.Challenge), "attestationObject": text(object)})
}

// PointKey is the COSE key of a point of P-256.
func PointKey(x, y []byte) any {
	return webauthncose.EC2PublicKeyData{
		PublicKeyData: webauthncose.PublicKeyData{KeyType: int64(webauthncose.EllipticKey), Algorithm: int64(webauthncose.AlgES256)},
		Curve:         int64(webauthncose.P256), XCoord: x, YCoord: y,
	}
}

// RSAKey is the COSE key of an RSA modulus and exponent.
func RSAKey(modulus, exponent []byte) any {
	return webauthncose.RSAPublicKeyData{
		PublicKeyData: webauthncose.PublicKeyData{KeyType: int64(webauthncose.RSAKey), Algorithm: int64(webauthncose.AlgRS256)},
		Modulus:       modulus, Exponent: exponent,
	}
}

// Get returns the answer to the options of navigator.credentials.get.
func (a *Authenticator) Get(t testing.TB, document string) string {
	t.Helper()
	return a.Sign(t, ChallengeOf(t, document))
}

// Sign returns the answer to a challenge.
func (a *Authenticator) Sign(t testing.TB, challenge string) string {
	t.Helper()
	client, data := a.client(t, "webauthn.get", challenge), a.data(0)
	raw, err := base64.RawURLEncoding.DecodeString(client)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(raw)
	signed := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, signed[:])
	if err != nil {
		t.Fatal(err)
	}
	response := map[string]any{"clientDataJSON": client, "authenticatorData": text(data), "signature": text(signature)}
	if a.handle != nil {
		response["userHandle"] = text(a.handle)
	}
	return a.answer(t, response)
}

// data returns authenticator data, and increases the counter.
func (a *Authenticator) data(more byte) []byte {
	host := sha256.Sum256([]byte(a.Host))
	data := binary.BigEndian.AppendUint32(append(host[:], a.Flags|more), a.Count)
	if !a.Still {
		a.Count++
	}
	return data
}

func (a *Authenticator) client(t testing.TB, kind, challenge string) string {
	t.Helper()
	document, err := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": a.Origin, "crossOrigin": false})
	if err != nil {
		t.Fatal(err)
	}
	return text(document)
}

func (a *Authenticator) answer(t testing.TB, response map[string]any) string {
	t.Helper()
	document, err := json.Marshal(map[string]any{
		"id": text(a.id), "rawId": text(a.id), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

func text(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// AnsweredBy returns the challenge that an answer names.
func AnsweredBy(t testing.TB, answer string) string {
	t.Helper()
	var document struct {
		Response struct{ ClientDataJSON string }
	}
	if err := json.Unmarshal([]byte(answer), &document); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(document.Response.ClientDataJSON)
	if err != nil {
		t.Fatal(err)
	}
	return ChallengeOf(t, string(raw))
}
