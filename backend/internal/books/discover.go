package books

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/text"
)

// maxBooks is how many address books of an account are offered.
const maxBooks = 20

var errNoBook = fault.New(fault.Invalid, "there is no address book at this address")

// book is an address book of an account.
type book struct {
	address *url.URL
	name    string
}

const askWhere = `<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:carddav"><d:prop><d:resourcetype/><d:displayname/><d:current-user-principal/><c:addressbook-home-set/></d:prop></d:propfind>`

// discover returns the address books of an account (RFC 6764): the one that the address is of, or those of the home of the account.
func (c *client) discover(ctx context.Context) ([]book, error) {
	for _, start := range []string{c.home.RequestURI(), "/.well-known/carddav", "/"} {
		at, err := c.home.Parse(start)
		if err != nil {
			continue
		}
		if found, err := c.booksAt(ctx, at, 0); !errors.Is(err, errNoBook) {
			return found, err
		}
	}
	return nil, errNoBook
}

// booksAt returns the address books that a resource leads to: itself, those of its home, or of its principal.
func (c *client) booksAt(ctx context.Context, at *url.URL, hops int) ([]book, error) {
	answer, at, err := c.request(ctx, "PROPFIND", at, "0", askWhere)
	if err != nil {
		return nil, err
	}
	for i := range answer.Responses {
		p, ok := answer.Responses[i].found()
		switch {
		case !ok:
		case p.Type.Book != nil:
			return []book{{at, p.Name}}, nil
		case len(p.Homes) > 0 && p.Homes[0].Href != "":
			return c.booksOf(ctx, at, p.Homes[0].Href)
		case p.Principal.Href != "" && hops == 0:
			principal, err := at.Parse(p.Principal.Href)
			if err != nil {
				return nil, errNoBook
			}
			return c.booksAt(ctx, principal, hops+1)
		}
	}
	return nil, errNoBook
}

// booksOf returns the address books of a home.
func (c *client) booksOf(ctx context.Context, at *url.URL, home string) (found []book, err error) {
	u, err := at.Parse(home)
	if err != nil {
		return nil, errNoBook
	}
	answer, u, err := c.request(ctx, "PROPFIND", u, "1", askWhere)
	if err != nil {
		return nil, err
	}
	for i := range answer.Responses {
		r := &answer.Responses[i]
		p, ok := r.found()
		address, err := u.Parse(r.Href)
		if ok && err == nil && p.Type.Book != nil && len(found) < maxBooks {
			found = append(found, book{address, p.Name})
		}
	}
	if len(found) == 0 {
		return nil, errNoBook
	}
	return found, nil
}

// keyOf returns the hash of an address by which a book, or a card, is known.
func keyOf(u *url.URL) string {
	sum := sha256.Sum256([]byte(path.Clean(u.Path)))
	return hex.EncodeToString(sum[:16])
}

// choose discovers the address books of the account, and takes the chosen one, or the first that is not taken.
func (c *client) choose(ctx context.Context, chosen string, taken []string) (names []sources.BookName, name string, err error) {
	found, err := c.discover(ctx)
	if err != nil {
		return nil, "", err
	}
	at := slices.IndexFunc(found, func(b book) bool {
		return (chosen == "" || keyOf(b.address) == chosen) && !slices.Contains(taken, b.address.String())
	})
	switch {
	case at < 0 && chosen != "":
		return nil, "", fault.New(fault.Invalid, "this address book is a source already, or is there no longer")
	case at < 0:
		return nil, "", fault.New(fault.Invalid, "the address books of this account are sources already")
	}
	for i, b := range found {
		label := strings.TrimSpace(text.Line(b.name))
		if label == "" {
			label = path.Base(b.address.Path)
		}
		names = append(names, sources.BookName{Key: keyOf(b.address), Name: text.Truncate(label, 100), Chosen: i == at})
	}
	c.access.Book = found[at].address.String()
	return names, names[at].Name, nil
}
