package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/kith-crm/kith/edge/internal/strictjson"
)

// decodeError is why a body is no message.
type decodeError struct {
	code    int // codeParse or codeInvalidRequest
	message string
}

// decoder decodes messages. It is reused, but not concurrently.
type decoder struct {
	body []byte
	src  bytes.Buffer
	json jsontext.Decoder
	name []byte // for names with escapes in them

	envelope envelope
}

// envelope is what was found at the top level.
type envelope struct {
	version, method, id []byte
	result, failure     bool
}

// decode reads one message. The message refers to body. Duplicate keys anywhere,
// bad UTF-8, a byte order mark and trailing data are refused by the JSON decoder.
func (d *decoder) decode(body []byte) (message, *decodeError) {
	switch first := firstByte(body); first {
	case '{':
	case '[':
		return message{}, &decodeError{codeInvalidRequest, "Batches are not accepted: send one message per request."}
	default:
		if !jsontext.Value(body).IsValid() {
			return message{}, &decodeError{codeParse, "The body is not valid JSON."}
		}
		return message{}, &decodeError{codeInvalidRequest, "The body must be one JSON object."}
	}
	if err := strictjson.CheckShape(body); err != nil {
		return message{}, &decodeError{codeInvalidRequest, "Refused: " + err.Error() + "."}
	}
	d.body, d.envelope = body, envelope{}
	d.src = *bytes.NewBuffer(body)
	d.json.Reset(&d.src)
	var m message
	if err := d.readEnvelope(&m); err != nil {
		return message{}, explain(err)
	}
	if _, err := d.json.ReadToken(); err == nil || !errors.Is(err, io.EOF) {
		return message{}, &decodeError{codeParse, "The body has data after the JSON object."}
	}
	return m, d.envelope.judge(&m)
}

func firstByte(body []byte) byte {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		return 0
	}
	return body[0]
}

// lookalike is the error for a key that is a known one in another case.
type lookalike struct{ known string }

// Error says what is wrong; it is part of a sentence for the caller.
func (l lookalike) Error() string { return "a key differs from " + l.known + " only in case" }

func explain(err error) *decodeError {
	if l, ok := errors.AsType[lookalike](err); ok {
		return &decodeError{codeInvalidRequest, "Refused: " + l.Error() + "."}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &decodeError{codeParse, "The body has an object with the same key twice."}
	}
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &decodeError{codeParse, fmt.Sprintf("The body is not valid JSON, at byte %d.", s.ByteOffset)}
	}
	return &decodeError{codeParse, "The body is not valid JSON."}
}

func (d *decoder) readEnvelope(m *message) error {
	return d.readObject(func(name []byte) error {
		var err error
		switch string(name) {
		case "jsonrpc":
			d.envelope.version, err = d.value()
		case "method":
			d.envelope.method, err = d.value()
		case "id":
			d.envelope.id, err = d.value()
		case "params":
			err = d.readParams(&m.params)
		case "result":
			d.envelope.result = true
			err = d.json.SkipValue()
		case "error":
			d.envelope.failure = true
			err = d.json.SkipValue()
		default:
			if known := similar(name, "jsonrpc", "method", "id", "params", "result", "error"); known != "" {
				return lookalike{known}
			}
			err = d.json.SkipValue()
		}
		return err
	})
}

func (d *decoder) readParams(p *params) error {
	if d.json.PeekKind() != '{' {
		p.fault = "params must be an object."
		return d.json.SkipValue()
	}
	return d.readObject(func(name []byte) error {
		var err error
		switch string(name) {
		case "name":
			p.name, err = d.value()
		case "arguments":
			p.arguments, err = d.value()
		case "cursor":
			p.cursor, err = d.value()
		case "protocolVersion":
			p.protocolVersion, err = d.value()
		default:
			if known := similar(name, "name", "arguments", "cursor", "protocolVersion", "_meta"); known != "" {
				p.fault = "In params, " + lookalike{known}.Error() + "."
			}
			err = d.json.SkipValue()
		}
		return err
	})
}

// readObject reads an object and calls member after each name, to read its value.
func (d *decoder) readObject(member func(name []byte) error) error {
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() == '"' {
		name, err := d.readName()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken() // the end, or the error that PeekKind saw
	return err
}

// readName returns the next name, valid until the next read.
func (d *decoder) readName() ([]byte, error) {
	quoted, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	d.name, err = jsontext.AppendUnquote(d.name[:0], quoted)
	return d.name, err
}

// value returns the next value as the part of the body that it is.
func (d *decoder) value() ([]byte, error) {
	v, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	end := d.json.InputOffset()
	return d.body[end-int64(len(v)) : end : end], nil
}

// similar returns the known name that name is in another case, or "".
func similar(name []byte, known ...string) string {
	for _, k := range known {
		if string(name) != k && strings.EqualFold(string(name), k) {
			return k
		}
	}
	return ""
}

// judge decides what kind of message the envelope is (JSON-RPC 2.0, sections 4
// and 5), or why it is none.
func (e envelope) judge(m *message) *decodeError {
	if string(e.version) != `"2.0"` {
		return &decodeError{codeInvalidRequest, `jsonrpc must be "2.0".`}
	}
	if e.id != nil && !isString(e.id) && !isNumber(e.id) {
		return &decodeError{codeInvalidRequest, "id must be a string or a number."}
	}
	m.id = e.id
	if e.method == nil {
		if (e.result || e.failure) && e.id != nil {
			m.kind = response
			return nil
		}
		return &decodeError{codeInvalidRequest, "method is missing."}
	}
	if e.result || e.failure {
		return &decodeError{codeInvalidRequest, "A message cannot be a request and a response at once."}
	}
	if !isString(e.method) {
		return &decodeError{codeInvalidRequest, "method must be a string."}
	}
	m.method = methodName(e.method)
	if e.id == nil {
		m.kind = notification
	}
	return nil
}

// methodName returns the text of a quoted method, without a copy for those that
// are served.
func methodName(quoted []byte) string {
	switch string(quoted) {
	case `"` + methodCallTool + `"`:
		return methodCallTool
	case `"` + methodListTools + `"`:
		return methodListTools
	case `"` + methodPing + `"`:
		return methodPing
	case `"` + methodInitialize + `"`:
		return methodInitialize
	default:
		return unquote(quoted)
	}
}

// unquote returns the text of a JSON string that was decoded before.
func unquote(quoted []byte) string {
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text)
}
