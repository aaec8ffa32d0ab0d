package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// authorities is the file with the CA certificates of this machine, which is copied into the image.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

// unprivileged is the user of an image, as in deploy/Dockerfile.
const unprivileged = 65532

// image writes a container image as a tar archive of the OCI layout, with the binary, certificates of authorities and the folder
// /data, and nothing else. The names of time zones are in the binary.
func (r release) image(to string) (err error) {
	files, err := r.layer()
	if err != nil {
		return err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "make release"},
	})
	if err != nil {
		return err
	}
	image, err = mutate.ConfigFile(mutate.ConfigMediaType(image, types.OCIConfigJSON), r.config(image))
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "kith-image")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := written.AppendImage(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	return r.archive(to, folder)
}

// config has what is not in the layer; it is deploy/Dockerfile's.
func (r release) config(image v1.Image) *v1.ConfigFile {
	now, err := image.ConfigFile()
	if err != nil {
		now = &v1.ConfigFile{}
	}
	c := now.DeepCopy()
	c.Architecture, c.OS, c.Created = r.arch, "linux", v1.Time{Time: r.date}
	c.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", unprivileged, unprivileged), Entrypoint: []string{"/kith"}, Cmd: []string{"serve"}, StopSignal: "SIGTERM",
		Env: []string{
			"KITH_DATABASE_URL=/data/kith.db", "SQLITE_TMPDIR=/data", "KITH_ADDR=:8080", "KITH_ADMIN_ADDR=:8081", "KITH_LOG_FORMAT=json",
		},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}, "8082/tcp": {}},
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/kith", "health"}, Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute},
		Labels: map[string]string{
			"org.opencontainers.image.version": r.version, "org.opencontainers.image.source": "https://github.com/kith-crm/kith", "org.opencontainers.image.title": "Kith",
		},
	}
	return c
}

// layer is the file system of the image.
func (r release) layer() ([]byte, error) {
	program, err := os.ReadFile(r.binary)
	if err != nil {
		return nil, err
	}
	trusted, err := os.ReadFile(authorities)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, entry := range []struct {
		name  string
		mode  int64
		owner int
		data  []byte
	}{
		{name: "etc/", mode: 0o755}, {name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: trusted},
		{name: "kith", mode: 0o755, data: program},
		{name: "data/", mode: 0o700, owner: unprivileged},
	} {
		header := &tar.Header{Name: entry.name, Mode: entry.mode, Uid: entry.owner, Gid: entry.owner, Size: int64(len(entry.data)), ModTime: r.date, Typeflag: tar.TypeReg}
		if entry.data == nil {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(entry.data); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// archive writes a folder as a tar archive, by name and without what differs between machines.
func (r release) archive(to, folder string) (err error) {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	w := tar.NewWriter(file)
	defer func() { err = errors.Join(err, w.Close(), file.Close()) }()
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name) + "/", Typeflag: tar.TypeDir, Mode: 0o755, ModTime: r.date})
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Typeflag: tar.TypeReg, Mode: 0o644, ModTime: r.date, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}
