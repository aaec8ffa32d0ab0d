package search

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	"google.golang.org/protobuf/proto"
)

// MaxSelection is the largest number of people in a selection.
const MaxSelection = 10_000

const (
	selectionPrefix = "sel_"
	tagBytes        = 9 // of selectionTag
	sumBytes        = 8 // of index.Result.Sum

	// maxSelectionText is the contract's bound on a selection, in characters.
	maxSelectionText = 2000
)

// matched is the people found by words and filters: how many, and a checksum of their ids.
type matched struct {
	Count int
	Sum   uint64
}

// encodeSelection returns a text for all people whom a search matched: the search itself,
// so that nothing is stored, and a checksum of the matched ids. It grants no access: it is
// always evaluated within the caller's own tenant. It is nil when no one or more than
// MaxSelection people matched, or when the search is too long for maxSelectionText.
func encodeSelection(t tenant.ID, req *connectionsv1.SearchConnectionsRequest, m matched) (*string, error) {
	if m.Count == 0 || m.Count > MaxSelection {
		return nil, nil
	}
	asked := proto.CloneOf(req)
	asked.Limit, asked.Cursor, asked.Order, asked.Include, asked.Mode = nil, nil, nil, nil, nil
	if asked.Query == nil {
		asked.Sort = nil
	}
	search, err := proto.MarshalOptions{Deterministic: true}.Marshal(asked)
	if err != nil {
		return nil, err
	}
	body := binary.LittleEndian.AppendUint64(nil, m.Sum)
	body = append(binary.AppendUvarint(body, uint64(m.Count)), search...)
	text := selectionPrefix + base64.RawURLEncoding.EncodeToString(append(selectionTag(t, body), body...))
	if len(text) > maxSelectionText {
		return nil, nil
	}
	return &text, nil
}

// selectionTag binds a selection to a member, and detects damage.
func selectionTag(t tenant.ID, body []byte) []byte {
	sum := sha256.Sum256(append([]byte(string(t)+"\x00"), body...))
	return sum[:tagBytes]
}

// decodeSelection decodes a selection of the same member.
func decodeSelection(t tenant.ID, selection string) (*connectionsv1.SearchConnectionsRequest, matched, error) {
	refused := fault.InvalidField("selection", "is none that search_connections gave this member; search again and pass on its selection unchanged")
	text, ok := strings.CutPrefix(selection, selectionPrefix)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(data) <= tagBytes+sumBytes || !bytes.Equal(data[:tagBytes], selectionTag(t, data[tagBytes:])) {
		return nil, matched{}, refused
	}
	body := data[tagBytes:]
	m := matched{Sum: binary.LittleEndian.Uint64(body)}
	count, n := binary.Uvarint(body[sumBytes:])
	req := &connectionsv1.SearchConnectionsRequest{}
	if n <= 0 || proto.Unmarshal(body[sumBytes+n:], req) != nil {
		return nil, matched{}, refused
	}
	m.Count = int(count)
	return req, m, nil
}

// Selected returns the ids of all people in a selection. It fails with fault.Invalid when
// the selection is not one of the caller's, and with fault.Conflict when the same search
// now matches other people.
func (h *RPC) Selected(ctx context.Context, selection string) ([]string, error) {
	p := tenant.PrincipalFrom(ctx)
	req, was, err := decodeSelection(p.Tenant, selection)
	if err != nil {
		return nil, err
	}
	q, err := h.query(ctx, req)
	if err != nil {
		return nil, err
	}
	q.Limit = MaxSelection
	found, err := h.Index.Search(ctx, p.Tenant, p.DataVersion, q)
	if err != nil {
		return nil, err
	}
	if now := (matched{Count: found.Total, Sum: found.Sum}); now != was {
		return nil, fault.New(fault.Conflict, "the selection stood for %d people and the same search matches %d by now, or others: search again", was.Count, now.Count)
	}
	return people.IDs(found.Hits, func(hit index.Hit) string { return hit.ID }), nil
}
