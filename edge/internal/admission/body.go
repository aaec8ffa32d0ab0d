package admission

import "io"

// Body returns a request's body that leaves the gate while it waits for bytes:
// clients that send slowly keep nobody else out.
func (g *Gate) Body(body io.ReadCloser) io.ReadCloser { return &patientBody{ReadCloser: body, gate: g} }

type patientBody struct {
	io.ReadCloser

	gate *Gate
}

// Read implements io.Reader.
func (b *patientBody) Read(p []byte) (int, error) {
	b.gate.Leave()
	defer b.gate.Resume()
	return b.ReadCloser.Read(p)
}
