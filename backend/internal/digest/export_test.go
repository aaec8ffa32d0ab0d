package digest

import "context"

// SendNext is sendNext, for tests.
func SendNext(ctx context.Context, s *Sender) (Result, bool, error) { return s.sendNext(ctx) }
