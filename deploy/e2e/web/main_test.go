// Package web tests the pages that people use, in a browser.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/web -run TestName
package web

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
