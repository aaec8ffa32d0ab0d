package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/blakesmith/ar"
	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// maintainer is who Debian's tools name.
const maintainer = "The authors of Kith <kith-crm@users.noreply.github.com>"

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Kith
Source: https://github.com/kith-crm/kith

Files: *
Copyright: 2026 The authors of Kith
License: Apache-2.0
 On Debian systems, the text of the license is in
 /usr/share/common-licenses/Apache-2.0.
`

// debianPackage writes the Debian package of a binary: program, units of systemd, settings in /etc/kith, manual page,
// completions of shells.
// Its scripts make the user kith and /var/lib/kith.
func (r release) debianPackage(to string) (err error) {
	folder, err := os.MkdirTemp("", "kith-deb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	contents, err := r.debianContents(folder)
	if err != nil {
		return err
	}
	scripts := filepath.Join(r.repository, "deploy", "release", "debian")
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "kith", Arch: r.arch, Platform: "linux", Version: r.version, Release: "1", MTime: r.date, DisableGlobbing: true,
		Section: "web", Priority: "optional", Maintainer: maintainer, Homepage: "https://github.com/kith-crm/kith",
		Description: "personal contact manager that AI agents use\nOne service with pages for people and tools for agents (MCP), on a SQLite file\nor PostgreSQL. It listens on this machine only until /etc/kith/kith.env says\notherwise.",
		Overridables: nfpm.Overridables{
			Depends: []string{"adduser", "init-system-helpers (>= 1.54~)"}, Recommends: []string{"ca-certificates"}, Suggests: []string{"postgresql-client"},
			Contents: contents, Umask: 0o022,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(scripts, "postinst"), PreRemove: filepath.Join(scripts, "prerm"), PostRemove: filepath.Join(scripts, "postrm"),
			},
			Deb: nfpm.Deb{Compression: "none"},
		},
	})
	var plain bytes.Buffer
	if err := deb.Default.Package(info, &plain); err != nil {
		return err
	}
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(compressData(file, &plain), file.Close())
}

// compressData copies a package and compresses its data.tar with xz. The library's own xz makes it a fifth larger.
func compressData(to io.Writer, from io.Reader) error {
	in, out := ar.NewReader(from), ar.NewWriter(to)
	if err := out.WriteGlobalHeader(); err != nil {
		return err
	}
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		if header.Name == "data.tar" {
			xz := exec.Command("xz", "-9", "--threads=1", "--stdout") //nolint:noctx // ends by itself
			xz.Stdin, xz.Stderr = bytes.NewReader(data), os.Stderr
			if data, err = xz.Output(); err != nil {
				return fmt.Errorf("compress the package with xz: %w", err)
			}
			header.Name, header.Size = "data.tar.xz", int64(len(data))
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
}

// debianContents are the files of the package; those that are made for it lie in folder.
func (r release) debianContents(folder string) (files.Contents, error) {
	made := map[string]func() ([]byte, error){
		"/lib/systemd/system/kith.service": func() ([]byte, error) {
			return r.unit("kith.service", "/usr/local/bin/kith", "/usr/bin/kith", "DynamicUser=yes", "User=kith\nGroup=kith")
		},
		"/lib/systemd/system/kith-backup.service": func() ([]byte, error) {
			return r.unit("kith-backup.service", "/usr/local/bin/kith", "/usr/bin/kith")
		},
		"/lib/systemd/system/kith-backup.timer":          func() ([]byte, error) { return r.unit("kith-backup.timer") },
		"/usr/share/man/man1/kith.1.gz":                  func() ([]byte, error) { return compressed(r.readPrinted("kith.1")) },
		"/usr/share/bash-completion/completions/kith":    func() ([]byte, error) { return r.readPrinted("kith.bash") },
		"/usr/share/zsh/vendor-completions/_kith":        func() ([]byte, error) { return r.readPrinted("kith.zsh") },
		"/usr/share/fish/vendor_completions.d/kith.fish": func() ([]byte, error) { return r.readPrinted("kith.fish") },
		"/usr/share/doc/kith/changelog.gz": func() ([]byte, error) {
			return compressed(os.ReadFile(filepath.Join(r.repository, "CHANGELOG.md")))
		},
		"/usr/share/doc/kith/changelog.Debian.gz": func() ([]byte, error) {
			return compressed([]byte(fmt.Sprintf("kith (%s-1) stable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n", r.version, maintainer, r.date.Format("Mon, 02 Jan 2006 15:04:05 -0700"))), nil)
		},
		"/usr/share/doc/kith/copyright": func() ([]byte, error) { return []byte(copyright), nil },
		"/usr/share/lintian/overrides/kith": func() ([]byte, error) {
			return []byte("# Go links statically.\nkith: statically-linked-binary\n# Nothing is closed in Debian's list of bugs.\nkith: initial-upload-closes-no-bugs\n# It may hold the address of a database and the password of a mail server.\nkith: non-standard-file-perm 0600 != 0644 *etc/kith/kith.env*\n"), nil
		},
	}
	contents := files.Contents{
		{Source: r.binary, Destination: "/usr/bin/kith", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.date}},
		{
			Source: filepath.Join(r.repository, "deploy", "systemd", "kith.env"), Destination: "/etc/kith/kith.env", Type: files.TypeConfigNoReplace,
			FileInfo: &files.ContentFileInfo{Mode: 0o600, MTime: r.date},
		},
	}
	for destination, text := range made {
		data, err := text()
		if err != nil {
			return nil, err
		}
		source := filepath.Join(folder, strings.ReplaceAll(destination, "/", "_"))
		if err := os.WriteFile(source, data, 0o600); err != nil {
			return nil, err
		}
		contents = append(contents, &files.Content{Source: source, Destination: destination, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.date}})
	}
	return contents, nil
}

func (r release) readPrinted(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.printed, name))
}

// unit is a unit of deploy/systemd with texts replaced, which must be there, without the first comment: it tells how to
// install it by hand.
func (r release) unit(name string, replacements ...string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(r.repository, "deploy", "systemd", name))
	if err != nil {
		return nil, err
	}
	text := string(data)
	start := strings.Index(text, "[Unit]")
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			start = -1
		}
		text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
	}
	if start < 0 {
		return nil, fmt.Errorf("%s is not as the package expects it: %w", name, fs.ErrInvalid)
	}
	return []byte(text[start:]), nil
}

// compressed passes an error on.
func compressed(data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
