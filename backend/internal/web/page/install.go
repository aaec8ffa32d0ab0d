package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// The paths of what a browser reads to install the site as an app. The service worker has
// one address for all versions, because browsers look there for a new one.
const (
	pathManifest = "/assets/kith.webmanifest"
	pathWorker   = "/assets/worker.js"
)

// PathShare is where a system's share sheet sends what a person shares with the installed app.
const PathShare = "/people/share"

// The names of the inputs of a share.
const (
	ShareTitle = "title"
	ShareText  = "text"
	ShareURL   = "url"
	ShareFile  = "file"
)

// The colours of the installed app while it starts: --paper of 0-base.css on light screens, and
// that of the icon.
const (
	paperColour = "#f6f7f4"
	iconColour  = "#0f6b5f"
)

// manifest is a web app manifest (W3C).
type manifest struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	ShortName   string         `json:"short_name"`
	Description string         `json:"description"`
	Lang        string         `json:"lang"`
	StartURL    string         `json:"start_url"`
	Scope       string         `json:"scope"`
	Display     string         `json:"display"`
	Theme       string         `json:"theme_color"`
	Background  string         `json:"background_color"`
	Icons       []manifestIcon `json:"icons"`
	Share       shareTarget    `json:"share_target"`
}

type manifestIcon struct {
	Source  string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose"`
}

type shareTarget struct {
	Action   string      `json:"action"`
	Method   string      `json:"method"`
	Encoding string      `json:"enctype"`
	Params   shareParams `json:"params"`
}

type shareParams struct {
	Title string      `json:"title"`
	Text  string      `json:"text"`
	URL   string      `json:"url"`
	Files []shareFile `json:"files"`
}

type shareFile struct {
	Name   string   `json:"name"`
	Accept []string `json:"accept"`
}

// addInstallable adds the manifest, its icons and the service worker, which keeps all other
// files.
func (s *assets) addInstallable() error {
	m := manifest{
		ID: PathStart, Name: "Kith", ShortName: "Kith", Description: "The people you know, and when to be in touch.", Lang: "en",
		StartURL: PathStart, Scope: PathStart, Display: "standalone", Theme: iconColour, Background: paperColour,
		Icons: []manifestIcon{{s.icon.address(), "any", s.icon.media, "any"}},
		Share: shareTarget{
			Action: PathShare, Method: "POST", Encoding: "multipart/form-data",
			Params: shareParams{
				Title: ShareTitle, Text: ShareText, URL: ShareURL,
				Files: []shareFile{{ShareFile, []string{"text/vcard", "text/x-vcard", ".vcf"}}},
			},
		},
	}
	for _, i := range []struct {
		name, purpose string
		size          int
	}{{"icon-192", "any", 192}, {"icon-512", "any", 512}, {"icon-maskable-512", "maskable", 512}} {
		icon, err := loadAsset("/assets/"+i.name+".png", "image/png")
		if err != nil {
			return err
		}
		size := strconv.Itoa(i.size)
		s.icons = append(s.icons, icon)
		m.Icons = append(m.Icons, manifestIcon{icon.address(), size + "x" + size, icon.media, i.purpose})
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("web: write manifest: %w", err)
	}
	s.manifest = newAsset(pathManifest, "application/manifest+json", data)
	return s.addWorker()
}

// release is what the service worker keeps: the files of one version of the site.
type release struct {
	Version string   `json:"version"`
	Files   []string `json:"files"`
}

// releaseMark is the text in the service worker that is replaced by the release.
const releaseMark = "const release = {};"

func (s *assets) addWorker() error {
	worker, err := loadAsset(pathWorker, javaScript)
	if err != nil {
		return err
	}
	kept := release{}
	for _, file := range s.files() {
		kept.Files = append(kept.Files, file.address())
	}
	data, err := json.Marshal(kept.Files)
	if err != nil {
		return fmt.Errorf("web: write service worker: %w", err)
	}
	kept.Version = newAsset("", "", data).version
	if data, err = json.Marshal(kept); err != nil {
		return fmt.Errorf("web: write service worker: %w", err)
	}
	if bytes.Count(worker.data, []byte(releaseMark)) != 1 {
		return errors.New("web: the service worker has no place for the release")
	}
	s.worker = newAsset(pathWorker, javaScript, bytes.Replace(worker.data, []byte(releaseMark), []byte("const release = "+string(data)+";"), 1))
	// The worker serves the pages of the whole site, and loads our files.
	s.worker.scope, s.worker.policy = PathStart, "default-src 'none'; connect-src 'self'"
	return nil
}
