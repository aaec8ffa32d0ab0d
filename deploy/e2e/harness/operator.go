package harness

import (
	"bytes"
	"crypto/rand"
	"os/exec"
	"strings"
	"testing"
)

// Outcome is the result of a command line.
type Outcome struct {
	Code           int
	Stdout, Stderr string
}

// RunKith runs one kith command in the environment, with the input.
func RunKith(t testing.TB, env []string, input string, args ...string) Outcome {
	t.Helper()
	return runBinary(t, PlainBinary, env, input, args...)
}

// runBinary is RunKith for another build.
func runBinary(t testing.TB, binary string, env []string, input string, args ...string) Outcome {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Dir = t.TempDir()
	command.Env = append(BareEnvironment(), env...)
	return RunToEnd(t, command, input)
}

func RunToEnd(t testing.TB, command *exec.Cmd, input string) Outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := command.Run(); command.ProcessState == nil {
		t.Fatalf("%s: %v", command, err)
	}
	return Outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Operate runs a kith command with the service's database; it must succeed.
func (s *Service) Operate(t testing.TB, input string, args ...string) string {
	t.Helper()
	done := runBinary(t, s.Commands, Environment(s.Database()), input, args...)
	if done.Code != 0 {
		t.Fatalf("kith %s: exit code %d: %s", strings.Join(args, " "), done.Code, done.Stderr)
	}
	Secrets.MustNotBeIn(t, "standard error of kith "+args[0], done.Stderr)
	return done.Stdout
}

// Member is a person with an account.
type Member struct {
	Service  *Service
	Username string
}

// NewMember creates a member with the command line while the service runs.
func (s *Service) NewMember(t testing.TB) *Member {
	t.Helper()
	m := &Member{Service: s, Username: "m-" + strings.ToLower(rand.Text()[:12])}
	password := Secrets.Keep("password", rand.Text())
	s.Operate(t, password+"\n", "member", "create", Secrets.Keep("username", m.Username), "--email", m.Username+"@member.example", "--password-stdin")
	return m
}

// PersonalToken is a bearer token, and the name under which its id is found.
type PersonalToken struct{ Bearer, name string }

// Token creates a personal token with the scopes, or with all scopes if none is given.
func (m *Member) Token(t testing.TB, scopes ...string) PersonalToken {
	t.Helper()
	var flags []string
	for _, scope := range scopes {
		flags = append(flags, "--scope", scope)
	}
	return m.TokenWith(t, flags...)
}

func (m *Member) TokenWith(t testing.TB, flags ...string) PersonalToken {
	t.Helper()
	name := rand.Text()
	args := append([]string{"token", "create", m.Username, "--name", name}, flags...)
	lines := strings.Split(strings.TrimSpace(m.Service.Operate(t, "", args...)), "\n")
	return PersonalToken{Secrets.Keep("personal token", lines[len(lines)-1]), name}
}

// TokenID returns the id with which the member revokes the token.
func (m *Member) TokenID(t testing.TB, token PersonalToken) string {
	t.Helper()
	for line := range strings.Lines(m.Service.Operate(t, "", "token", "list", m.Username)) {
		if strings.Contains(line, token.name) {
			return strings.Fields(line)[0]
		}
	}
	t.Fatalf("the token %s is not in the list", token.name)
	return ""
}

func (m *Member) Revoke(t testing.TB, token PersonalToken) {
	t.Helper()
	m.Service.Operate(t, "", "token", "revoke", m.Username, m.TokenID(t, token))
}
