// Package imports tests imports and exports of contacts, by agents and on the settings page.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/imports -run TestName
package imports

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
