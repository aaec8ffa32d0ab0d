package vector

import (
	"context"
	"hash/fnv"
	"math"
	"strings"

	"github.com/kith-crm/kith/backend/internal/text"
)

// LocalModel is the name of the built-in provider's model. It must change whenever the
// same text would get another vector.
const LocalModel = "local-hash-3"

// localDimensions is the length of the built-in provider's vectors.
const localDimensions = 256

// Local is the built-in provider: it hashes words and groups of letters. It finds
// similar spellings, not meanings. Equal texts get equal vectors on every machine, in
// every release with the same LocalModel.
type Local struct{}

// Model implements Provider.
func (Local) Model() string { return LocalModel }

// Host implements Provider: nothing leaves the process.
func (Local) Host() string { return "" }

// Noise implements Provider. It was measured on made-up people.
func (Local) Noise() float32 { return 0.15 }

// Understands implements Provider.
func (Local) Understands() bool { return false }

// Embed implements Provider.
func (Local) Embed(ctx context.Context, texts []string) ([]Vector, error) {
	out := make([]Vector, len(texts))
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.TrimSpace(t) == "" {
			return nil, refusal("an empty text has no vector")
		}
		out[i] = hashed(t)
	}
	return out, nil
}

// A whole word weighs more than a group of its letters.
const (
	wordWeight  = 1.0
	groupWeight = 0.35
)

// hashed sums the words and letter groups of a text. It adds them in the order of the text, because
// a sum of floats depends on the order. A part counts by the square root of how often it occurs,
// so that a word of every note does not outweigh the name.
func hashed(t string) Vector {
	parts := counter{at: map[uint64]int{}}
	words := text.Words(t)
	for _, word := range words {
		parts.add(fingerprint('w', word), wordWeight*wordWeight)
		groups(word, func(group string) { parts.add(fingerprint('g', group), groupWeight*groupWeight) })
	}
	if len(words) == 0 {
		parts.add(fingerprint('t', t), 1)
	}
	v := make(Vector, localDimensions)
	for i, print := range parts.prints {
		weight := float32(math.Sqrt(parts.counts[i]))
		if print>>63 == 1 {
			weight = -weight
		}
		v[print%localDimensions] += weight
	}
	if Normalise(v) != nil { // two that cancel each other out
		v[fingerprint('t', t)%localDimensions] = 1
	}
	return v
}

// counter adds up the parts of a text by their fingerprints.
type counter struct {
	at     map[uint64]int
	prints []uint64
	counts []float64
}

func (c *counter) add(print uint64, n float64) {
	at, ok := c.at[print]
	if !ok {
		at = len(c.prints)
		c.at[print] = at
		c.prints, c.counts = append(c.prints, print), append(c.counts, 0)
	}
	c.counts[at] += n
}

// groups calls each with every three and four letters of a word, of which the
// beginning and the end are marked.
func groups(word string, each func(group string)) {
	letters := []rune("<" + word + ">")
	for end := range len(letters) + 1 {
		for _, size := range []int{3, 4} {
			if end >= size {
				each(string(letters[end-size : end]))
			}
		}
	}
}

// fingerprint is the 64-bit FNV-1a hash of a kind and a text, with its bits mixed
// so that each of them depends on all of the text.
func fingerprint(kind byte, s string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write(append([]byte{kind}, s...))
	h := hash.Sum64()
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	return h ^ h>>29
}
