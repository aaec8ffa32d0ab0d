package page

import (
	"bufio"
	"io"
	"net/http"
)

// downloadBuffer is how much of a file is buffered, in bytes. If the store fails before
// that, an error page can still be sent.
const downloadBuffer = 64 << 10

// Download sends a file while write writes it, and calls sent if any of it was sent. If
// write fails halfway, it closes the connection, so that the file is not taken for
// complete.
func (v *Request) Download(name, mediaType string, write func(out io.Writer) error, sent func()) error {
	v.W.Header().Set("Content-Type", mediaType)
	v.W.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if v.R.Method == http.MethodHead {
		return nil
	}
	body := &sentWriter{Writer: v.W}
	out := bufio.NewWriterSize(body, downloadBuffer)
	err := write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil || body.begun {
		sent()
	}
	if err == nil {
		return nil
	}
	if !body.begun {
		v.W.Header().Del("Content-Disposition")
		SetHeaders(v.W.Header())
		SetAlone(v.W.Header())
		return err
	}
	v.Logger.WarnContext(v.R.Context(), "export broken off", "error", err)
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to say "close the connection"
}

// sentWriter records whether anything was written.
type sentWriter struct {
	io.Writer

	begun bool
}

func (w *sentWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.Writer.Write(p)
}
