package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program is a static program that stands for Kith: packing takes seconds with it, and half a minute with Kith.
func program(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	source := filepath.Join(folder, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"stands for kith\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "kith")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// packed makes a package and an image, and returns their folder.
func packed(t *testing.T, binary string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"kith.1": ".TH KITH 1\n.SH NAME\nkith \\- personal contact manager\n", "kith.bash": "complete kith\n", "kith.zsh": "#compdef kith\n", "kith.fish": "complete -c kith\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range []string{"deb", "image"} {
		args := []string{
			what, "-version", "0.1.0", "-date", "2026-11-28T12:00:00Z", "-repository", filepath.Join("..", ".."), "-arch", "amd64", "-binary", binary,
			"-to", filepath.Join(folder, "kith."+what),
		}
		if what == "deb" {
			args = append(args, "-printed", folder)
		}
		if err := run(args, func(string) string { return "" }, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// command returns what a program prints.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestSameBytes: the same binary gives the same package and the same image, in any folder.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	binary := program(t)
	one, other := packed(t, binary), packed(t, binary)
	for _, name := range []string{"kith.deb", "kith.image"} {
		first, err := os.ReadFile(filepath.Join(one, name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(filepath.Join(other, name))
		if err != nil || !bytes.Equal(first, second) || len(first) < 1e5 {
			t.Errorf("%s: %d and %d bytes, which differ (%v)", name, len(first), len(second), err)
		}
	}
}

// TestPackage: Debian's own programs read the package and complain of nothing.
func TestPackage(t *testing.T) {
	t.Parallel()
	deb := filepath.Join(packed(t, program(t)), "kith.deb")
	list := command(t, "dpkg-deb", "--contents", deb)
	for _, line := range []string{
		"-rwxr-xr-x root/root", "./usr/bin/kith", "-rw------- root/root", "./etc/kith/kith.env", "./lib/systemd/system/kith.service", "./lib/systemd/system/kith-backup.timer",
		"./usr/share/man/man1/kith.1.gz", "./usr/share/bash-completion/completions/kith", "./usr/share/zsh/vendor-completions/_kith", "./usr/share/fish/vendor_completions.d/kith.fish", "2026-11-28 12:00",
	} {
		if !strings.Contains(list, line) {
			t.Errorf("the package lacks %q:\n%s", line, list)
		}
	}
	unpacked := t.TempDir()
	command(t, "dpkg-deb", "--raw-extract", deb, unpacked)
	unit, err := os.ReadFile(filepath.Join(unpacked, "lib", "systemd", "system", "kith.service"))
	if err != nil || !strings.Contains(string(unit), "ExecStart=/usr/bin/kith serve\n") || !strings.Contains(string(unit), "User=kith\n") || strings.Contains(string(unit), "DynamicUser") {
		t.Errorf("the unit (%v):\n%s", err, unit)
	}
	settings, err := os.ReadFile(filepath.Join(unpacked, "DEBIAN", "conffiles"))
	if err != nil || strings.TrimSpace(string(settings)) != "/etc/kith/kith.env" {
		t.Errorf("an upgrade keeps the settings %q: %v", settings, err)
	}
	command(t, "lintian", "--allow-root", "--fail-on", "error,warning", deb)
}

// TestImage: umoci unpacks the image, and the program in it runs as a user without rights.
func TestImage(t *testing.T) {
	t.Parallel()
	layout, bundle := t.TempDir(), filepath.Join(t.TempDir(), "bundle")
	command(t, "tar", "xf", filepath.Join(packed(t, program(t)), "kith.image"), "-C", layout)
	unpack := []string{"unpack", "--image", layout + ":0.1.0", bundle}
	if os.Geteuid() != 0 {
		unpack = append(unpack[:1:1], append([]string{"--rootless"}, unpack[1:]...)...)
	}
	command(t, "umoci", unpack...)
	for _, name := range []string{"data", "etc/ssl/certs/ca-certificates.crt"} {
		if _, err := os.Stat(filepath.Join(bundle, "rootfs", name)); err != nil {
			t.Error(err)
		}
	}
	config, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil || !strings.Contains(string(config), fmt.Sprintf(`"uid": %d`, unprivileged)) || !strings.Contains(string(config), `"/kith"`) {
		t.Errorf("the image runs (%v):\n%s", err, config)
	}
	if os.Geteuid() == 0 {
		if said := command(t, "chroot", "--userspec=65532:65532", filepath.Join(bundle, "rootfs"), "/kith"); said != "stands for kith\n" {
			t.Errorf("it says %q", said)
		}
	}
}

// TestSign: minisign accepts the signature of the checksums, sha256sum the checksums; a changed file or list is noticed.
func TestSign(t *testing.T) {
	t.Parallel()
	keys, folder := t.TempDir(), t.TempDir()
	// Without a password: deriving a key from one takes a gigabyte of memory and seconds.
	command(t, "minisign", "-G", "-W", "-p", filepath.Join(keys, "public"), "-s", filepath.Join(keys, "key"))
	for path, data := range map[string][]byte{
		filepath.Join(folder, "kith"): []byte("a program"), filepath.Join(folder, "kith.deb"): []byte("a package"),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sign := func(key string) error {
		env := map[string]string{"KITH_RELEASE_KEY": filepath.Join(keys, key)}
		return run([]string{"sign", "-to", folder}, func(name string) string { return env[name] }, io.Discard)
	}
	if err := sign("public"); err == nil {
		t.Error("a public key signs")
	}
	if err := sign("key"); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(folder, sums)
	command(t, "minisign", "-V", "-p", filepath.Join(keys, "public"), "-m", list)
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", sums)
	check.Dir = folder
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	first, err := os.ReadFile(list + ".minisig")
	if err != nil {
		t.Fatal(err)
	}
	if err := sign("key"); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(list + ".minisig"); err != nil || !bytes.Equal(first, second) {
		t.Errorf("the second signature differs: %v", err)
	}
	if err := os.WriteFile(list, []byte("another list\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), "minisign", "-V", "-p", filepath.Join(keys, "public"), "-m", list).Run(); err == nil {
		t.Error("minisign accepts the signature of another list")
	}
}
