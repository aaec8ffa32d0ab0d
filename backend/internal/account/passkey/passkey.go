// Package passkey asks browsers for passkeys and checks what they answer (WebAuthn Level 3). It stores
// nothing: package account keeps the passkeys and the challenges.
//
// Every ceremony requires user verification: the authenticator asks for a PIN, a fingerprint or a face.
// So whoever finds or steals an authenticator cannot sign in with it alone.
package passkey

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Party is the relying party of a site. It is safe for concurrent use.
type Party struct{ web *webauthn.WebAuthn }

// timeout is how long browsers wait for the person.
const timeout = 5 * time.Minute

// New returns the relying party of the site at an address such as https://kith.example: passkeys
// belong to its host, and only answers from its origin are accepted. It returns nil if the host is
// an IP address, for which browsers make no passkeys.
func New(baseURL string) (*Party, error) {
	base, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("parse base URL: %w", err)
	}
	if _, err := netip.ParseAddr(base.Hostname()); err == nil {
		return nil, nil //nolint:nilnil // a site without passkeys
	}
	web, err := webauthn.New(&webauthn.Config{
		RPID: base.Hostname(), RPDisplayName: "Kith", RPOrigins: []string{base.Scheme + "://" + base.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: webauthn.TimeoutConfig{Timeout: timeout}, Registration: webauthn.TimeoutConfig{Timeout: timeout}},
		// We ask for no extension and use none. Some password managers send outputs unasked.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
	if err != nil {
		return nil, fmt.Errorf("set up passkeys: %w", err)
	}
	return &Party{web: web}, nil
}

// Owner is a member as a WebAuthn user.
type Owner struct {
	ID tenant.ID
	// Username and Name are shown when the person chooses a passkey.
	Username, Name string
	// Passkeys are those that the member has.
	Passkeys []account.Passkey
}

// WebAuthnID and the other three methods implement webauthn.User.
func (o *Owner) WebAuthnID() []byte { return []byte(o.ID) }

// WebAuthnName implements webauthn.User.
func (o *Owner) WebAuthnName() string { return o.Username }

// WebAuthnDisplayName implements webauthn.User.
func (o *Owner) WebAuthnDisplayName() string { return o.Name }

// WebAuthnCredentials implements webauthn.User.
func (o *Owner) WebAuthnCredentials() []webauthn.Credential {
	credentials := make([]webauthn.Credential, len(o.Passkeys))
	for i, p := range o.Passkeys {
		id, _ := base64.RawURLEncoding.DecodeString(p.CredentialID) // New encoded it
		credentials[i] = webauthn.Credential{
			ID: id, PublicKey: p.PublicKey, Flags: webauthn.CredentialFlags{BackupEligible: p.BackupEligible},
			Authenticator: webauthn.Authenticator{SignCount: p.SignCount},
		}
		for name := range strings.SplitSeq(p.Transports, ",") {
			if name != "" {
				credentials[i].Transport = append(credentials[i].Transport, protocol.AuthenticatorTransport(name))
			}
		}
	}
	return credentials
}

// Ask returns the options for navigator.credentials.get, as JSON, and the challenge. With a nil owner,
// any passkey of the site may answer; otherwise only a passkey of the owner.
func (p *Party) Ask(owner *Owner) (options any, challenge string, err error) {
	var asked *protocol.CredentialAssertion
	var session *webauthn.SessionData
	if owner == nil {
		asked, session, err = p.web.BeginDiscoverableLogin()
	} else {
		asked, session, err = p.web.BeginLogin(owner)
	}
	if err != nil {
		return nil, "", fmt.Errorf("ask for a passkey: %w", err)
	}
	return asked.Response, session.Challenge, nil
}

// AskNew returns the options for navigator.credentials.create, and the challenge. An authenticator that
// already has a passkey of the member does not make a second one.
func (p *Party) AskNew(owner *Owner) (options any, challenge string, err error) {
	known := webauthn.Credentials(owner.WebAuthnCredentials()).CredentialDescriptors()
	asked, session, err := p.web.BeginRegistration(owner, webauthn.WithExclusions(known), webauthn.WithCredentialParameters(algorithms()))
	if err != nil {
		return nil, "", fmt.Errorf("ask for a new passkey: %w", err)
	}
	return asked.Response, session.Challenge, nil
}

// Answer is an authenticator's answer with an existing passkey. It is not checked yet.
type Answer struct {
	parsed *protocol.ParsedCredentialAssertionData
}

// Parse reads an answer, the JSON of a PublicKeyCredential. It fails with fault.Invalid.
func Parse(answer string) (*Answer, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "this is no answer of a passkey")
	}
	return &Answer{parsed}, nil
}

// Challenge returns the challenge that the browser says it answers.
func (a *Answer) Challenge() string { return a.parsed.Response.CollectedClientData.Challenge }

// CredentialID returns the credential id in the answer. It is not checked yet.
func (a *Answer) CredentialID() string { return base64.RawURLEncoding.EncodeToString(a.parsed.RawID) }

// Check checks the answer of a passkey to the challenge: origin, host, signature, presence and
// verification of the person. alone is set if the answer has to name the member, too. It returns
// the authenticator's counter. It fails with fault.Unauthenticated if the answer is wrong, and with
// fault.Conflict if only the counter did not grow: a copy of the passkey may exist.
func (p *Party) Check(a *Answer, challenge string, of *account.Passkey, alone bool) (signCount uint32, err error) {
	owner := &Owner{ID: of.MemberID, Passkeys: []account.Passkey{*of}}
	session := webauthn.SessionData{Challenge: challenge, UserVerification: protocol.VerificationRequired}
	var credential *webauthn.Credential
	if alone {
		find := func([]byte, []byte) (webauthn.User, error) { return owner, nil }
		_, credential, err = p.web.ValidatePasskeyLogin(find, session, a.parsed)
	} else {
		session.UserID = owner.WebAuthnID()
		credential, err = p.web.ValidateLogin(owner, session, a.parsed)
	}
	if err != nil {
		return 0, fault.Wrap(err, fault.Unauthenticated, "the answer of the passkey is not right")
	}
	if credential.Authenticator.CloneWarning {
		return 0, fault.New(fault.Conflict, "the counter of the passkey did not grow")
	}
	return credential.Authenticator.SignCount, nil
}

// NewAnswer is an authenticator's answer with a new passkey. It is not checked yet.
type NewAnswer struct {
	parsed *protocol.ParsedCredentialCreationData
}

// ParseNew reads an answer with a new passkey. It fails with fault.Invalid.
func ParseNew(answer string) (*NewAnswer, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "this is no new passkey")
	}
	return &NewAnswer{parsed}, nil
}

// Challenge returns the challenge that the browser says it answers.
func (a *NewAnswer) Challenge() string { return a.parsed.Response.CollectedClientData.Challenge }

// CheckNew checks a new passkey of a member as Check does an answer, and returns its row without id and
// name. It fails with fault.Unauthenticated.
func (p *Party) CheckNew(a *NewAnswer, challenge string, owner tenant.ID) (*account.Passkey, error) {
	o := &Owner{ID: owner}
	made, err := p.web.CreateCredential(o, webauthn.SessionData{
		Challenge: challenge, UserID: o.WebAuthnID(), UserVerification: protocol.VerificationRequired, CredParams: algorithms(),
	}, a.parsed)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unauthenticated, "the new passkey is not right")
	}
	if err := checkKey(made.PublicKey); err != nil {
		return nil, fault.Wrap(err, fault.Unauthenticated, "the key of the new passkey is not right")
	}
	transports := make([]string, len(made.Transport))
	for i, name := range made.Transport {
		transports[i] = string(name)
	}
	return &account.Passkey{
		MemberID: owner, CredentialID: base64.RawURLEncoding.EncodeToString(made.ID), PublicKey: made.PublicKey, Transports: strings.Join(transports, ","),
		BackupEligible: made.Flags.BackupEligible, SignCount: made.Authenticator.SignCount,
	}, nil
}

// algorithms are those of new passkeys: every platform has one of them.
func algorithms() []protocol.CredentialParameter {
	return []protocol.CredentialParameter{
		{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgES256},
		{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgRS256},
	}
}

// minRSABits is the length of the shortest RSA key that NIST SP 800-131A allows.
const minRSABits = 2048

// checkKey refuses a key with which nobody or anybody could sign, because without attestation the library
// does not look at it: a point that is not on its curve, or a short or impossible RSA key.
func checkKey(cose []byte) error {
	key, err := webauthncose.ParsePublicKey(cose)
	if err != nil {
		return err
	}
	switch k := key.(type) {
	case webauthncose.EC2PublicKeyData:
		_, err = k.ToECDSA()
		return err
	case webauthncose.RSAPublicKeyData:
		exponent, err := webauthncose.ParseRSAPublicKeyDataExponent(&k)
		if err != nil {
			return err
		}
		n := new(big.Int).SetBytes(k.Modulus)
		if n.BitLen() < minRSABits || n.Bit(0) == 0 || exponent < 3 || exponent%2 == 0 {
			return errors.New("an RSA key that is too short, or impossible")
		}
		return nil
	default:
		return fmt.Errorf("a key of the type %T", key)
	}
}
