package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// terminal asks a person questions.
type terminal struct {
	file  *os.File
	lines *bufio.Reader
	out   io.Writer
}

// terminal returns the terminal that standard input is; false if it is none.
func (p *program) terminal() (*terminal, bool) {
	file, ok := p.in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return &terminal{file: file, lines: bufio.NewReader(file), out: p.err}, true
}

// ask prints a question and returns the line that is typed.
func (t *terminal) ask(question string) (string, error) {
	if _, err := fmt.Fprint(t.out, question); err != nil {
		return "", err
	}
	line, err := t.lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// askNewPassword asks for a password twice, without showing what is typed.
func (t *terminal) askNewPassword() (string, error) {
	chosen, err := t.askPassword("Password: ")
	if err != nil {
		return "", err
	}
	again, err := t.askPassword("The same password again: ")
	if err == nil && again != chosen {
		return "", errors.New("the two passwords are not the same")
	}
	return chosen, err
}

func (t *terminal) askPassword(question string) (string, error) {
	if _, err := fmt.Fprint(t.out, question); err != nil {
		return "", err
	}
	line, err := term.ReadPassword(int(t.file.Fd()))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	_, err = fmt.Fprintln(t.out)
	return string(line), err
}
