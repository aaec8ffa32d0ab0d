package dav_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/photos/phototest"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// withPhoto returns a card with a PHOTO property.
func withPhoto(card, property string) string {
	return strings.Replace(card, "NOTE:", property+"\nNOTE:", 1)
}

// inBase64 returns the property of a photo in version 3.0.
func inBase64(data []byte) string {
	return "PHOTO;ENCODING=b;TYPE=JPEG:" + base64.StdEncoding.EncodeToString(data)
}

// notes returns the bodies of all notes.
func (s *site) notes() (bodies []string) {
	s.Helper()
	var all []timeline.Note
	if err := s.data().From(&all).Column("body").Order("id").Scan(s.Context()); err != nil {
		s.Fatal(err)
	}
	for _, n := range all {
		bodies = append(bodies, n.Body)
	}
	return bodies
}

// TestPhotos: photos go both ways, and only a device that had a photo removes it.
func TestPhotos(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		phone, laptop := s.device(false), s.device(false)
		const path = book + "a.vcf"
		phone.want(http.StatusCreated, "PUT", path, withPhoto(veraHolm, inBase64(phototest.PNG(t, phototest.Picture(900, 600)))))
		photo := s.one().Photo
		got := phone.want(http.StatusOK, "GET", path, "")
		if photo == "" || !strings.Contains(got.body, "PHOTO;ENCODING=b;TYPE=JPEG:/9j/") {
			t.Fatalf("the photo is %q in %s", photo, got.body)
		}
		if v4 := phone.want(http.StatusOK, "GET", path, "", "Accept", "text/vcard; version=4.0").body; !strings.Contains(v4, "PHOTO:data:image/jpeg;base64,/9j/") {
			t.Errorf("version 4.0 is %s", v4)
		}

		// The phone returns the scaled photo that it got.
		phone.want(http.StatusNoContent, "PUT", path, strings.Replace(got.body, "Likes chess", "Likes go", 1), "If-Match", got.header.Get("ETag"))
		if c := s.one(); c.Photo != photo || c.Bio != "Likes go" {
			t.Errorf("after an edit it is %+v", c)
		}
		// The laptop never got the photo, and knows the entity tag of the card.
		etag := phone.want(http.StatusOK, "GET", path, "").header.Get("ETag")
		laptop.want(http.StatusNoContent, "PUT", path, strings.Replace(veraHolm, "Likes chess", "Likes bridge", 1), "If-Match", etag)
		laptop.want(http.StatusNoContent, "PUT", path, strings.Replace(veraHolm, "Likes chess", "Likes poker", 1))
		if c := s.one(); c.Photo != photo || c.Bio != "Likes poker" {
			t.Errorf("after edits of a device without photos it is %+v", c)
		}
		// A newer photo is another card.
		before := phone.want(http.StatusOK, "GET", path, "").header.Get("ETag")
		phone.want(http.StatusNoContent, "PUT", path, withPhoto(veraHolm, inBase64(phototest.JPEG(t, 500, 700))), "If-Match", before)
		newer := phone.want(http.StatusOK, "GET", path, "")
		if s.one().Photo == photo || newer.header.Get("ETag") == before {
			t.Errorf("a newer photo is %s, with the entity tag %s", s.one().Photo, newer.header.Get("ETag"))
		}
		// The phone removes the photo that it had; an undo brings it back.
		photo = s.one().Photo
		phone.want(http.StatusNoContent, "PUT", path, veraHolm, "If-Match", newer.header.Get("ETag"))
		if c := s.one(); c.Photo != "" {
			t.Errorf("after the removal the photo is %s", c.Photo)
		}
		s.undo()
		if restored := phone.want(http.StatusOK, "GET", path, ""); s.one().Photo != photo || restored.body == "" || !strings.Contains(restored.body, "PHOTO;") {
			t.Errorf("after the undo the photo is %s", s.one().Photo)
		}
		if len(s.notes()) > 0 {
			t.Errorf("the notes are %q", s.notes())
		}
	})
}

// TestRefusedPhotos: if a photo cannot be stored, the rest of its card is, the person keeps the photo that they have, and a note says so.
func TestRefusedPhotos(t *testing.T) {
	t.Parallel()
	each(t, func(s *site) {
		d := s.device(false)
		const path, other = book + "a.vcf", "PHOTO;VALUE=uri:https://photos.example/vera.jpg"
		d.want(http.StatusCreated, "PUT", path, withPhoto(veraHolm, other))
		if got := d.want(http.StatusOK, "GET", path, "").body; !strings.Contains(got, other) || s.one().Photo != "" {
			t.Errorf("the card with an address of a photo is %s", got)
		}
		d.want(http.StatusNoContent, "PUT", path, withPhoto(veraHolm, inBase64(phototest.JPEG(t, 500, 500))))
		photo := s.one().Photo
		if got := d.want(http.StatusOK, "GET", path, "").body; photo == "" || strings.Count(got, "PHOTO") != 1 {
			t.Errorf("the card with a photo is %s", got)
		}
		edited := strings.Replace(veraHolm, "Likes chess", "Likes go", 1)
		for range 2 {
			d.want(http.StatusNoContent, "PUT", path, withPhoto(edited, "PHOTO;ENCODING=b;TYPE=JPEG:bm90IGEgcGljdHVyZQ=="))
		}
		if c, notes := s.one(), s.notes(); c.Photo != photo || c.Bio != "Likes go" || len(notes) != 1 || !strings.HasPrefix(notes[0], "Of the card, the photo was left out: choose a picture") {
			t.Errorf("after an unreadable photo it is %+v with the notes %q", c, notes)
		}

		kept, _, err := s.data().Space(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.store.SetQuota(t.Context(), s.owner, new(kept+20_000)); err != nil {
			t.Fatal(err)
		}
		card := strings.NewReplacer("UID:3", "UID:4", "Vera", "Ada", "vera", "ada").Replace(veraHolm)
		d.want(http.StatusCreated, "PUT", book+"b.vcf", withPhoto(card, inBase64(phototest.PNG(t, phototest.Picture(432, 431)))))
		all := s.all()
		if len(all) != 2 || all[0].Name != "Ada Holm" || all[0].Photo != "" || len(all[0].Values(people.KindPhone)) != 1 {
			t.Errorf("in a full account it is %+v", all)
		}
		if notes := s.notes(); len(notes) != 2 || !slices.Contains(notes, "Of the card, the photo was left out: the account is full.") {
			t.Errorf("the notes are %q", notes)
		}
	})
}
