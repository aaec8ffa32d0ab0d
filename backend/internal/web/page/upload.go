package page

import (
	"errors"
	"io"
	"net/http"
)

// FormUnreadable refuses a form that cannot be read.
var FormUnreadable = Refuse(http.StatusBadRequest, "The form cannot be read", "Go back and try again.")

// ReadUpload returns a function that reads a form with a file of up to most bytes, if the sender is
// signed in. It answers with tooLarge or unreadable if it cannot.
func ReadUpload(most int64, tooLarge, unreadable *Refusal) Handler {
	return func(v *Request) error {
		login, err := v.Current(v.R)
		if err != nil || login == nil {
			return err
		}
		v.R.Body = http.MaxBytesReader(v.W, v.R.Body, most)
		err = v.R.ParseMultipartForm(most)
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return tooLarge
		}
		if err != nil {
			return unreadable
		}
		return nil
	}
}

// File returns the name and the content of the file in a field of an uploaded form; nil if there is
// no file.
func (v *Request) File(field string) (name string, content []byte, err error) {
	if v.R.MultipartForm == nil || len(v.R.MultipartForm.File[field]) == 0 {
		return "", nil, nil
	}
	defer func() { _ = v.R.MultipartForm.RemoveAll() }()
	header := v.R.MultipartForm.File[field][0]
	file, err := header.Open()
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = file.Close() }()
	content, err = io.ReadAll(file)
	return header.Filename, content, err
}
