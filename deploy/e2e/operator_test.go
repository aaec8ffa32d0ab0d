package e2e

import (
	"bytes"
	"crypto/rand"
	"os/exec"
	"strings"
	"testing"
)

// outcome is what a command line that ran to its end left behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// kith runs one command line in the environment, with the input.
func kith(t *testing.T, env []string, input string, args ...string) outcome {
	t.Helper()
	command := exec.CommandContext(t.Context(), kithBinary, args...)
	command.Dir = t.TempDir()
	command.Env = append(bareEnvironment(), env...)
	return runToEnd(t, command, input)
}

func runToEnd(t *testing.T, command *exec.Cmd, input string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := command.Run(); command.ProcessState == nil {
		t.Fatalf("%s: %v", command, err)
	}
	return outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// operate runs a command line beside the service, which must succeed.
func (s *service) operate(t *testing.T, input string, args ...string) string {
	t.Helper()
	done := kith(t, environment(s.database()), input, args...)
	if done.code != 0 {
		t.Fatalf("kith %s: exit code %d: %s", strings.Join(args, " "), done.code, done.stderr)
	}
	secrets.mustNotBeIn(t, "standard error of kith "+args[0], done.stderr)
	return done.stdout
}

// member is a person with an account.
type member struct {
	service  *service
	username string
}

// newMember makes a member by command line, beside the running service.
func (s *service) newMember(t *testing.T) *member {
	t.Helper()
	m := &member{service: s, username: "m-" + strings.ToLower(rand.Text()[:12])}
	password := secrets.keep("password", rand.Text())
	s.operate(t, password+"\n", "member", "create", secrets.keep("username", m.username), "--email", m.username+"@member.example", "--password-stdin")
	return m
}

// personalToken is a bearer, and the name by which its id is found.
type personalToken struct{ bearer, name string }

// token makes a personal token with the scopes; with all when none is given.
func (m *member) token(t *testing.T, scopes ...string) personalToken {
	t.Helper()
	var flags []string
	for _, scope := range scopes {
		flags = append(flags, "--scope", scope)
	}
	return m.tokenWith(t, flags...)
}

func (m *member) tokenWith(t *testing.T, flags ...string) personalToken {
	t.Helper()
	name := rand.Text()
	args := append([]string{"token", "create", m.username, "--name", name}, flags...)
	lines := strings.Split(strings.TrimSpace(m.service.operate(t, "", args...)), "\n")
	return personalToken{secrets.keep("personal token", lines[len(lines)-1]), name}
}

// tokenID is what the member revokes the token by.
func (m *member) tokenID(t *testing.T, token personalToken) string {
	t.Helper()
	for line := range strings.Lines(m.service.operate(t, "", "token", "list", m.username)) {
		if strings.Contains(line, token.name) {
			return strings.Fields(line)[0]
		}
	}
	t.Fatalf("the token %s is not in the list", token.name)
	return ""
}

func (m *member) revoke(t *testing.T, token personalToken) {
	t.Helper()
	m.service.operate(t, "", "token", "revoke", m.username, m.tokenID(t, token))
}
