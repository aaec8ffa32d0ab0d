package idempotency

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"sync"
)

// writers are reused, because each takes more than half a MiB.
var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // fails only for another level
	return w
}}

// compress returns the answer as it is stored: in DEFLATE's format (RFC 1951), which makes the answer of a
// small write a third smaller. An empty answer stays empty.
func compress(answer []byte) ([]byte, error) {
	if len(answer) == 0 {
		return []byte{}, nil // never NULL
	}
	w := writers.Get().(*flate.Writer) //nolint:forcetypeassert // the pool holds nothing else
	defer writers.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	if _, err := w.Write(answer); err != nil {
		return nil, fmt.Errorf("compress an answer: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress an answer: %w", err)
	}
	return out.Bytes(), nil
}

// decompress returns the answer of what compress returned.
func decompress(stored []byte) ([]byte, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	answer, err := io.ReadAll(flate.NewReader(bytes.NewReader(stored)))
	if err != nil {
		return nil, fmt.Errorf("decompress an answer: %w", err)
	}
	return answer, nil
}
