// Package dav tests that address books of other programs synchronise people by CardDAV.
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/dav -run TestName
package dav

import (
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
