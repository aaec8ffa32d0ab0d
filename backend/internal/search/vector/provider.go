package vector

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
	// same number of dimensions. An empty text is an error. When the provider fails or
	// refuses, the error is a *ProviderError.
	Embed(ctx context.Context, texts []string) ([]Vector, error)
	// Noise is the cosine that vectors of unrelated texts can reach; 0 when unknown.
	Noise() float32
	// Understands reports whether similar vectors mean similar meaning, not spelling.
	Understands() bool
}

// ProviderError is the reason why a provider made no vectors. Its text is for members
// and logs, and contains neither a key nor the texts.
type ProviderError struct {
	// Message is a sentence.
	Message string
	// Final means that a retry will not help until the configuration is changed.
	Final bool
}

func (e *ProviderError) Error() string { return e.Message }

func refusal(format string, args ...any) error {
	return &ProviderError{Message: fmt.Sprintf(format, args...), Final: true}
}

func trouble(format string, args ...any) error {
	return &ProviderError{Message: fmt.Sprintf(format, args...)}
}
