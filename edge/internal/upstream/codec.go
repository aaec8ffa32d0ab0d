package upstream

import "fmt"

// rawJSON is a Connect codec that passes JSON bytes through. It copies: the
// buffers on both sides are pooled by their owners.
type rawJSON struct{}

// Name makes Connect say application/json.
func (rawJSON) Name() string { return "json" }

// Marshal returns a copy of the message's bytes.
func (c rawJSON) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends the message's bytes to b. Connect prefers it to Marshal,
// whose result it would keep in its buffer pool.
func (rawJSON) MarshalAppend(b []byte, message any) ([]byte, error) {
	m, ok := message.(*raw)
	if !ok {
		return nil, fmt.Errorf("marshal raw JSON: got %T", message)
	}
	return append(b, m.data...), nil
}

// Unmarshal copies data into the message.
func (rawJSON) Unmarshal(data []byte, message any) error {
	m, ok := message.(*raw)
	if !ok {
		return fmt.Errorf("unmarshal raw JSON: got %T", message)
	}
	m.data = append(m.data[:0], data...)
	return nil
}
