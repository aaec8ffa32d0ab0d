package mcp

// kind of a JSON-RPC message.
type kind uint8

const (
	request      kind = iota // wants an answer
	notification             // wants none
	response                 // of a client, to a question that was never asked
)

// message is a decoded JSON-RPC message. Its raw values are parts of the body
// that it was decoded from.
type message struct {
	kind   kind
	method string
	id     []byte // as sent: a JSON string or number; nil without one
	params params
}

// params are the members of params that some method here reads, each as the raw
// JSON value that was sent, or nil.
type params struct {
	// fault says why params can be read by no method: not an object, or a key
	// that differs from a known one only in case.
	fault           string
	name            []byte
	arguments       []byte
	cursor          []byte
	protocolVersion []byte
}

// isObject says whether a raw JSON value is an object.
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// isString says whether a raw JSON value is a string.
func isString(value []byte) bool { return len(value) > 0 && value[0] == '"' }

// isNumber says whether a raw JSON value is a number.
func isNumber(value []byte) bool {
	return len(value) > 0 && (value[0] == '-' || ('0' <= value[0] && value[0] <= '9'))
}
