// Package openapi tests that the service answers as /openapi.json says.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/openapi -run TestName
package openapi

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
