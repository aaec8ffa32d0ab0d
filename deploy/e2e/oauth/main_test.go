// Package oauth tests the authorization server with openid-client, the official SDK and the conformance suite.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/oauth -run TestName
package oauth

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
