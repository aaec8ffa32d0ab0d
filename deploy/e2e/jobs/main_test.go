// Package jobs tests background jobs: one for many starts, and several workers on one database.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/jobs -run TestName
package jobs

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
