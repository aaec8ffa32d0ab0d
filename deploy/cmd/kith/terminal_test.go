package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns a new terminal, and the other side of it, at which the test types.
func openTerminal(t *testing.T) (tty, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return tty, person
}

// converse types each answer once its question is on the screen, and returns the screen at the
// last answer.
func converse(t *testing.T, person *os.File, dialogue ...string) (screen string) {
	t.Helper()
	chunk := make([]byte, 1024)
	for i := 0; i < len(dialogue); i += 2 {
		for !strings.Contains(screen, dialogue[i]) {
			n, err := person.Read(chunk)
			if err != nil {
				t.Errorf("no %q on the screen %q: %v", dialogue[i], screen, err)
				return screen
			}
			screen += string(chunk[:n])
		}
		for strings.Contains(strings.ToLower(dialogue[i]), "password") && echoes(t, person) {
			runtime.Gosched()
		}
		if _, err := person.WriteString(dialogue[i+1] + "\n"); err != nil {
			t.Error(err)
		}
	}
	return screen
}

// echoes reports whether the terminal shows what is typed.
func echoes(t *testing.T, person *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(person.Fd()), unix.TCGETS)
	return err == nil && state.Lflag&unix.ECHO != 0
}

// At a terminal, member create asks for what is not given. The password is not shown.
func TestMemberCreateAsks(t *testing.T) {
	const password = "violet kettle drum"
	for name, c := range map[string]struct {
		args     []string
		dialogue []string
		code     int
		says     string
	}{
		"for everything":         {nil, []string{"Username: ", "ada", "E-mail address: ", "ada@people.example", "Password: ", password, "password again: ", password}, 0, "Member ada was created."},
		"for the rest":           {[]string{"ben", "--email", "ben@people.example"}, []string{"Password: ", password, "password again: ", password}, 0, "Member ben was created."},
		"twice for the password": {[]string{"ben", "--email", "ben@people.example"}, []string{"Password: ", password, "password again: ", "another kettle drum"}, 1, "the two passwords are not the same"},
		"and checks":             {nil, []string{"Username: ", "A", "E-mail address: ", "ada@people.example", "Password: ", password, "password again: ", password}, 1, "3 to 30 lower-case letters"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kith.db")
			command(t, path, "migrate")
			t.Setenv("KITH_DATABASE_URL", path)
			tty, person := openTerminal(t)
			var out, errOut bytes.Buffer
			code := make(chan int)
			go func() {
				code <- run(t.Context(), append([]string{"member", "create"}, c.args...), tty, &out, &both{&errOut, tty})
			}()
			screen := converse(t, person, c.dialogue...)
			if got := <-code; got != c.code || !strings.Contains(out.String()+errOut.String(), c.says) {
				t.Errorf("exit code %d, %s%s", got, &out, &errOut)
			}
			if strings.Contains(screen, password) {
				t.Errorf("the password is on the screen: %q", screen)
			}
		})
	}
}

// both writes to a buffer and to the terminal.
type both struct {
	kept *bytes.Buffer
	tty  *os.File
}

func (b *both) Write(p []byte) (int, error) {
	b.kept.Write(p)
	return b.tty.Write(p)
}

// Without a terminal, everything must be given.
func TestMemberCreateWithoutTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kith.db")
	command(t, path, "migrate")
	t.Setenv("KITH_DATABASE_URL", path)
	for _, c := range []struct {
		args string
		says string
	}{
		{"ada --email ada@people.example", "no terminal to ask at"},
		{"ada --password-stdin", "give USERNAME and --email"},
		{"--email ada@people.example --password-stdin", "give USERNAME and --email"},
		{"ada --email ada@people.example --password-stdin", ""},
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), append([]string{"member", "create"}, strings.Fields(c.args)...), strings.NewReader("violet kettle drum\n"), &out, &errOut)
		if c.says == "" && code != 0 || c.says != "" && (code == 0 || !strings.Contains(errOut.String(), c.says)) {
			t.Errorf("%s: exit code %d, %s", c.args, code, &errOut)
		}
	}
}

// The help of a command shows its own flags before the settings of the service.
func TestHelpOfACommand(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"member", "create", "--help"}, nil, &out, &errOut); code != 0 {
		t.Fatal(code, &errOut)
	}
	own, settings, found := strings.Cut(out.String(), "Settings of the service, for every command:")
	if !found || !strings.Contains(own, "--email") || !strings.Contains(own, "--help") || strings.Contains(own, "--base-url") || !strings.Contains(settings, "--base-url") {
		t.Error(out.String())
	}
}
