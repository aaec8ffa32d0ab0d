package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/kith-crm/kith/proto/catalog"
)

// seenAnswers collects all structured answers of the run, one line of JSON each. Node.js
// tests write their own files into the folder.
type seenAnswers struct {
	mu     sync.Mutex
	folder string
	file   *os.File
	err    error
}

// answers is set by Main.
var answers *seenAnswers

// answersFolder is the environment variable with the folder for the answers of Node.js
// tests.
const answersFolder = "KITH_ANSWERS"

func newSeenAnswers(dir string) (*seenAnswers, error) {
	s := &seenAnswers{folder: filepath.Join(dir, "answers")}
	if err := os.Mkdir(s.folder, 0o755); err != nil {
		return nil, err
	}
	var err error
	s.file, err = os.Create(filepath.Join(s.folder, "go.jsonl"))
	return s, err
}

// keep stores the structured content of the answer to a tool call. It ignores every other
// request and answer; other checks cover them.
func (s *seenAnswers) keep(request, response string) {
	var call struct {
		Method string
		Params struct{ Name string }
	}
	var answer struct {
		Result struct{ StructuredContent json.RawMessage }
	}
	if json.Unmarshal([]byte(request), &call) != nil || call.Method != "tools/call" ||
		json.Unmarshal([]byte(response), &answer) != nil || answer.Result.StructuredContent == nil {
		return
	}
	line, err := json.Marshal(map[string]any{"tool": call.Params.Name, "content": answer.Result.StructuredContent})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	s.err = errors.Join(s.err, err)
}

// check validates all answers against the published schemas with ajv, which most clients
// use, under draft-07 and under 2020-12.
func (s *seenAnswers) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.err, s.file.Close()); err != nil {
		return err
	}
	tools, err := catalog.Load()
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(s.folder, "schemas.json"))
	if err != nil {
		return err
	}
	schemas := map[string]any{}
	for _, rpc := range tools.AllTools() {
		schemas[rpc.Tool.Name] = map[string]any{
			"input": rpc.Tool.InputSchema, "output": rpc.Tool.OutputSchema, "unlisted": rpc.Tool.UnlistedSchema, "text_by_others": rpc.Tool.TextByOthers,
		}
	}
	out := bufio.NewWriter(file)
	if err := errors.Join(json.NewEncoder(out).Encode(schemas), out.Flush(), file.Close()); err != nil {
		return err
	}
	found, err := exec.Command("node", Repository("deploy", "e2e", "harness", "answers.mjs"), s.folder).CombinedOutput()
	if err != nil {
		return fmt.Errorf("structured answers: %w: %s", err, found)
	}
	return nil
}
