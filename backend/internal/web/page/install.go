package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The paths of what a browser reads to install the site as an app. The service worker has
// one address for all versions, because browsers look there for a new one.
const (
	pathManifest = "/assets/kith.webmanifest"
	pathWorker   = "/assets/worker.js"
)

// PathShare is where a system's share sheet sends what a person shares with the installed app.
const PathShare = "/people/share"

// The names of the inputs of a share, as in the manifest.
const (
	ShareTitle = "title"
	ShareText  = "text"
	ShareURL   = "url"
	ShareFile  = "file"
)

// addInstallable adds the manifest, its icons and the service worker, which keeps all other
// files. The manifest names the icons without their versions, which are added here.
func (s *assets) addInstallable() error {
	m, err := loadAsset(pathManifest, "application/manifest+json")
	if err != nil {
		return err
	}
	versions := []string{s.icon.path, s.icon.address()}
	for _, name := range []string{"icon-192", "icon-512", "icon-maskable-512"} {
		icon, err := loadAsset("/assets/"+name+".png", "image/png")
		if err != nil {
			return err
		}
		s.icons, versions = append(s.icons, icon), append(versions, icon.path, icon.address())
	}
	s.manifest = newAsset(m.path, m.media, []byte(strings.NewReplacer(versions...).Replace(string(m.data))))
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
	kept.Files = s.versions()
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
