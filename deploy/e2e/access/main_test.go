// Package access tests who may do what: tokens, scopes, read-only credentials, and that members see nothing of each other.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/access -run TestName
package access

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
