package mcp

import (
	"bytes"
	"sync"
)

// maxKeptBytes is the largest buffer that waits for the next request.
const maxKeptBytes = 256 << 10

// scratch is the memory of one request. Everything decoded from it and written
// with it ends with release.
type scratch struct {
	body    bytes.Buffer
	decoder decoder
	out     []byte
}

// scratchPool keeps scratches between requests.
type scratchPool struct {
	pool sync.Pool
}

func (p *scratchPool) get() *scratch {
	if s, ok := p.pool.Get().(*scratch); ok {
		return s
	}
	return &scratch{}
}

func (p *scratchPool) release(s *scratch) {
	if s.body.Cap() > maxKeptBytes || cap(s.out) > maxKeptBytes {
		return
	}
	s.body.Reset()
	s.out = s.out[:0]
	p.pool.Put(s)
}
