// Package observability tests metrics and traces.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/observability -run TestName
package observability

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
