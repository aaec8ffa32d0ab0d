// Package operations tests what operators do: settings, commands, upgrades, backups, and the README.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestName
package operations

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
