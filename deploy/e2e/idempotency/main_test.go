// Package idempotency tests Idempotency-Key at each endpoint that takes one.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/idempotency -run TestName
package idempotency

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
