// Package resilience tests crashes, outages, restarts and slow clients.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/resilience -run TestName
package resilience

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
