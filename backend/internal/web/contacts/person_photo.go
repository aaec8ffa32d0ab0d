package contacts

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/photos"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// photoField is the input with the file.
const photoField = "photo"

// maxPhotoForm limits the form with a photo, in bytes.
const maxPhotoForm = photos.MaxBytes + 64<<10

// photoTooLarge refuses a photo of more than photos.MaxBytes.
var photoTooLarge = page.Refuse(http.StatusRequestEntityTooLarge, "That picture is too large", "A photo may hold 5 MB. Go back and choose a smaller one.")

// setPhoto makes an uploaded picture the photo of the person.
func (v *request) setPhoto() error {
	p, err := v.person() // before the work of decoding
	if err != nil {
		return err
	}
	if err := v.Data().CheckSpace(v.Ctx); err != nil { // likewise
		return err
	}
	_, data, err := v.File(photoField)
	if err != nil {
		return err
	}
	if len(data) > photos.MaxBytes {
		return photoTooLarge
	}
	var changeID string
	photo, err := photos.Read(v.Ctx, data)
	if err == nil {
		changeID, err = page.Change(v.Member, pageName, func(ctx context.Context, tx *db.Tx) (string, error) {
			return photos.Set(ctx, tx, p.GetConnection().GetId(), photo)
		})
	}
	if err == nil {
		return v.done("photo-saved", changeID)
	}
	var wrong page.Mistakes
	if err := wrong.Take(photoField, err); err != nil {
		return err
	}
	return v.showForm(http.StatusBadRequest, p, Form{Name: photoField, Errors: wrong.List})
}

// removePhoto removes the photo of the person.
func (v *request) removePhoto() error {
	v.Ctx = db.WithExtraQuota(v.Ctx)
	changeID, err := page.Change(v.Member, pageName, func(ctx context.Context, tx *db.Tx) (string, error) { return photos.Remove(ctx, tx, v.personID()) })
	return v.acted(nil, "photo-removed", changeID, err)
}

// showPhoto serves a size of the photo of the person. With the current version in the address, a
// browser may keep it; only the member's own, since pages need a session.
func (v *request) showPhoto() error {
	if err := v.checkedID(); err != nil {
		return err
	}
	size, err := strconv.Atoi(v.R.URL.Query().Get("size"))
	if err != nil {
		return fault.New(fault.NotFound, "there is no such photo")
	}
	image, err := photos.Get(v.Ctx, v.Data(), v.personID(), size)
	if err != nil {
		return err
	}
	keep := "private, no-cache" // the requested version may not be this one
	if v.R.URL.Query().Get("v") == image.ID {
		keep = "private, max-age=31536000, immutable"
	}
	h := v.W.Header()
	h.Set("Content-Type", image.Media)
	h.Set("Cache-Control", keep)
	h.Set("ETag", `"`+image.ID+"-"+strconv.Itoa(image.Size)+`"`)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	http.ServeContent(v.W, v.R, "", time.Time{}, bytes.NewReader(image.Data))
	return nil
}
