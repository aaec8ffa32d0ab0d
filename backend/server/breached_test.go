package server_test

import (
	"crypto/sha1"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/server"
)

// The operator cannot set a breached password either, and a list that cannot be read stops the
// server and the commands that set a password.
func TestBreachedPasswordsOfOperators(t *testing.T) {
	t.Parallel()
	const stolen = "harbour lantern oak"
	folder := t.TempDir()
	list, url := filepath.Join(folder, "hashes.txt"), filepath.Join(folder, "kith.db")
	if err := os.WriteFile(list, fmt.Appendf(nil, "%X\n", sha1.Sum([]byte(stolen))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Migrate(t.Context(), url, false); err != nil {
		t.Fatal(err)
	}
	a, err := server.OpenAdmin(t.Context(), url, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	ada := server.NewMember{Username: "ada", Email: "ada@example.com", Password: stolen, Plan: "free"}
	a.RefuseBreached(server.BreachedPasswords{File: list})
	if err := a.CreateMember(t.Context(), ada); !fault.Is(err, fault.Invalid) {
		t.Errorf("create: %v", err)
	}
	ada.Password = "quiet copper bridge"
	if err := a.CreateMember(t.Context(), ada); err != nil {
		t.Error(err)
	}
	if err := a.SetPassword(t.Context(), "ada", stolen); !fault.Is(err, fault.Invalid) {
		t.Errorf("set: %v", err)
	}
	none := server.BreachedPasswords{File: filepath.Join(folder, "none")}
	a.RefuseBreached(none)
	if err := a.SetPassword(t.Context(), "ada", "violet kettle drum"); err == nil {
		t.Error("a password is set although the list cannot be read")
	}
	_, err = server.New(t.Context(), server.Config{DatabaseURL: url, ServiceToken: "a service token", BaseURL: "https://kith.example", Breached: none})
	if err == nil {
		t.Error("the server starts although the list cannot be read")
	}
}
