// Package cursor makes the opaque page tokens of lists. A cursor holds the
// position where the next page begins and a checksum over that position and the
// query it belongs to, so that a damaged cursor, or one of another query, is
// refused. It grants no access: every page is read within the caller's own
// tenant, no matter what the cursor contains.
package cursor

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/vmihailenco/msgpack/v5"
)

// checksumBytes is enough for mistakes; a cursor grants nothing.
const checksumBytes = 6

// Encode returns a cursor for a position within the results of a query. Both
// must be encodable, the query as JSON and the position as MessagePack; the query is everything that decides the order.
func Encode(query, position any) (string, error) {
	var packed bytes.Buffer
	encoder := msgpack.NewEncoder(&packed) // as arrays, so that the names of fields take no room
	encoder.UseArrayEncodedStructs(true)
	encoder.UseCompactInts(true)
	if err := encoder.Encode(position); err != nil {
		return "", err
	}
	p := packed.Bytes()
	sum, err := checksum(query, p)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(sum, p...)), nil
}

// Decode decodes a cursor that Encode made for the same query into position. It
// fails with fault.Invalid for anything else.
func Decode(cursor string, query, position any) error {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) <= checksumBytes {
		return invalid()
	}
	// Base64 decoders skip line breaks and unused bits, so accept only what Encode writes.
	if base64.RawURLEncoding.EncodeToString(data) != cursor {
		return invalid()
	}
	sum, err := checksum(query, data[checksumBytes:])
	if err != nil {
		return err
	}
	if !bytes.Equal(sum, data[:checksumBytes]) {
		return invalid()
	}
	if err := msgpack.Unmarshal(data[checksumBytes:], position); err != nil {
		return invalid()
	}
	return nil
}

func invalid() error {
	return fault.InvalidField("cursor", "is not one that these arguments gave; repeat the call that returned it with the same arguments, or leave it out")
}

func checksum(query any, position []byte) ([]byte, error) {
	q, err := jsonv2.Marshal(query, jsonv2.OmitZeroStructFields(true), jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(append(q, 0), position...))
	return sum[:checksumBytes], nil
}
