// Package publicapi tests the plain HTTP API: public reads, rate limits, removal dates and the sandbox's documents.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/publicapi -run TestName
package publicapi

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
