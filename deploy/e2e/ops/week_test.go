//go:build ops

package ops

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// TestOperatorsWeek plays what an operator sees: with the rules, Prometheus and Alertmanager as shipped, each fault rings and
// ends with its cause; the service token is replaced without a failed call; and the backup works on another machine. It needs root,
// to make a small disk.
func TestOperatorsWeek(t *testing.T) {
	disk := t.TempDir()
	must(t, syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"))
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	w := &week{T: t, site: newSite(t, plan{direct: true, folder: disk, small: []string{"KITH_SMTP_URL=smtp://127.0.0.1:1?from=kith@kith.example"}})}
	_, _, w.token = w.site.member("pro")
	w.agent().result(t, "create_connection", arguments{"name": "First Person"})

	w.rings("a frozen backend", "KithBackendLeftOut", func() { w.site.backends[0].signal(syscall.SIGSTOP) }, func() { w.site.backends[0].signal(syscall.SIGCONT) })
	ballast := filepath.Join(disk, "ballast")
	w.rings("a full disk", "KithDiskFull", func() { w.fill(ballast) }, func() { must(t, os.Remove(ballast)) })
	w.locked()
	w.rings("dead mail", "KithMailFails", w.askForMail, func() {})
	w.rings("a stale backup", "KithBackupStale", func() {
		w.exec(w.site.databaseURL, "UPDATE schema_migrations SET applied_at = '2026-01-01 00:00:00+00'")
	}, func() { w.site.operate("", "backup", filepath.Join(t.TempDir(), "backup")) })
	w.rotate()
	w.moveHouse()
}

// week is the week of an operator.
type week struct {
	*testing.T

	site  *site
	token string
}

func (w *week) agent() *client { return w.site.client(w.token) }

// rings checks that an alert fires after a fault, and ends after it was mended.
func (w *week) rings(what, alert string, fault, mend func()) {
	w.Helper()
	began := time.Now()
	fault()
	rang := within(w.T, timeout, what+" rings "+alert, func() bool { return w.site.pager.heard(began, alert) })
	mend()
	ended := within(w.T, 3*time.Minute, what+": "+alert+" ends", func() bool {
		return !slices.ContainsFunc(w.site.pager.since(began), func(p page) bool { return p.is(alert) && p.toldEnd.IsZero() })
	})
	w.Logf("%s: %s rang after %s, and ended %s after it was mended", what, alert, rang.Round(time.Second), ended.Round(time.Second))
}

// signal sends a process a signal.
func (p *process) signal(how syscall.Signal) {
	p.t.Helper()
	must(p.t, p.command.Process.Signal(how))
}

// fill fills the disk of a file.
func (w *week) fill(file string) {
	w.Helper()
	f, err := os.Create(file)
	must(w.T, err)
	defer func() { _ = f.Close() }()
	for block := make([]byte, 1<<16); ; {
		if _, err := f.Write(block); err != nil {
			return // the disk is full
		}
	}
}

// locked holds the lock of the small installation's database, as another program might.
func (w *week) locked() {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+w.site.smallDatabase+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	must(w.T, err)
	defer func() { _ = db.Close() }()
	var tx *sql.Tx
	w.rings("a locked database", "KithStoreDown", func() {
		tx, err = db.Begin()
		must(w.T, err)
	}, func() { must(w.T, tx.Rollback()) })
}

// askForMail asks for a new password, in a browser of the small installation.
func (w *week) askForMail() {
	w.Helper()
	name := "m-" + strings.ToLower(rand.Text()[:12])
	w.site.operateOn(w.site.smallDatabase, rand.Text(), "member", "create", name, "--email", name+"@member.example", "--password-stdin")
	jar, err := cookiejar.New(nil)
	must(w.T, err)
	browser := &http.Client{Jar: jar, Timeout: timeout}
	get, err := browser.Get(w.site.smallBase + "/forgot")
	must(w.T, err)
	page, err := io.ReadAll(get.Body)
	must(w.T, err)
	must(w.T, get.Body.Close())
	form := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		form.Set(field[1], field[2])
	}
	form.Set("login", name)
	sent, err := browser.PostForm(w.site.smallBase+"/forgot", form)
	must(w.T, err)
	text, err := io.ReadAll(sent.Body)
	must(w.T, err)
	must(w.T, sent.Body.Close())
	if sent.StatusCode != http.StatusOK || strings.Contains(string(text), "Forgotten your password") {
		w.Fatalf("got %d %s", sent.StatusCode, text)
	}
}

func (w *week) exec(databaseURL, statement string) {
	w.Helper()
	db, err := sql.Open("pgx", databaseURL)
	must(w.T, err)
	defer func() { _ = db.Close() }()
	_, err = db.Exec(statement)
	must(w.T, err)
}

// rotate replaces the service token in three rounds, while agents call.
func (w *week) rotate() {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	failures := make(chan string, 1000)
	done, calls := make(chan struct{}), 0
	go func() {
		defer close(done)
		for c := w.agent(); ctx.Err() == nil; calls++ {
			if got, err := c.call(context.WithoutCancel(ctx), toolCall("search_connections", arguments{"query": "First"})); err != nil || !got.done() {
				failures <- got.body
			}
		}
	}()
	fresh := rand.Text()
	restart := func(p *process, settings ...string) {
		p.stop()
		p.env = append(slices.DeleteFunc(p.env, func(line string) bool { return strings.HasPrefix(line, "KITH_SERVICE_TOKEN") }), settings...)
		p.start()
	}
	for _, p := range w.site.backends {
		restart(p, "KITH_SERVICE_TOKEN="+fresh, "KITH_SERVICE_TOKEN_PREVIOUS="+w.site.serviceToken)
	}
	for _, p := range w.site.edges {
		restart(p, "KITH_SERVICE_TOKEN="+fresh)
	}
	for _, p := range w.site.backends {
		restart(p, "KITH_SERVICE_TOKEN="+fresh)
	}
	stop()
	<-done
	close(failures)
	for failure := range failures {
		w.Errorf("a call failed while the service token was replaced: %s", failure)
	}
	w.Logf("the service token was replaced during %d calls", calls)
}

// moveHouse restores a backup on another machine, where the same token works.
func (w *week) moveHouse() {
	w.Helper()
	backup := filepath.Join(w.TempDir(), "kith.backup")
	w.site.operate("", "backup", backup)
	w.exec(w.site.databaseURL, "CREATE DATABASE elsewhere")
	elsewhere := strings.Replace(w.site.databaseURL, "/postgres?", "/elsewhere?", 1)
	w.site.operateOn(elsewhere, "", "restore", backup)
	address := w.site.address()
	again := w.site.kith("elsewhere", "serve", "KITH_ADDR="+address, "KITH_DATABASE_URL="+elsewhere, "KITH_BASE_URL=http://"+address)
	again.start()
	c := w.agent()
	c.site = &site{base: "http://" + address}
	if found := c.result(w.T, "search_connections", arguments{"query": "First Person"}); !strings.Contains(fmt.Sprint(found), "First Person") {
		w.Errorf("the restored service finds %v", found)
	}
	command := exec.CommandContext(w.Context(), w.site.builds[0], "doctor")
	command.Env = []string{"KITH_DATABASE_URL=" + elsewhere, "KITH_BASE_URL=http://" + address}
	if said, err := command.CombinedOutput(); err != nil {
		w.Errorf("the doctor of the restored service: %v\n%s", err, said)
	}
}
