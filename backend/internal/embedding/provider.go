package embedding

import (
	"context"
	"fmt"
)

// Provider turns texts into vectors. It is safe for concurrent use.
type Provider interface {
	// Model names what makes the vectors. Those of different models, or of different
	// lengths, cannot be compared.
	Model() string
	// Host is where texts are sent to; empty when they stay in this process.
	Host() string
	// Embed returns a vector of length 1 for each text, in their order, all with the
	// same number of dimensions. A text that is empty is an error. It fails with
	// a *ProviderError when the provider does not do it.
	Embed(ctx context.Context, texts []string) ([]Vector, error)
	// Noise is the cosine that vectors of texts which have nothing to do with each
	// other may well have; 0 when that is not known.
	Noise() float32
	// Understands tells that likeness is one of meaning rather than of spelling.
	Understands() bool
}

// ProviderError tells why a provider made no vectors. Its text is for members and
// logs: it never holds a key, nor what was sent.
type ProviderError struct {
	// Message is a sentence.
	Message string
	// Final tells that repeating it will not help until somebody mends something.
	Final bool
}

func (e *ProviderError) Error() string { return e.Message }

func refusal(format string, args ...any) error {
	return &ProviderError{Message: fmt.Sprintf(format, args...), Final: true}
}

func trouble(format string, args ...any) error {
	return &ProviderError{Message: fmt.Sprintf(format, args...)}
}
