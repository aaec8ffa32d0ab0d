// Package data reads the people that every peer serves, and holds them in SQLite with the
// bearer tokens, so that the peers differ only in the library that serves the request.
package data

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver, registered as "sqlite"
)

// Person is a person of the network.
type Person struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Email        string `json:"email"`
	Organization string `json:"organization"`
	Title        string `json:"title"`
	City         string `json:"city"`
}

// Set is the file that the benchmark writes for the peers.
type Set struct {
	People []Person `json:"people"`
	Tokens []string `json:"tokens"`
}

// Addr is the address to listen on, from the command line.
var (
	Addr = flag.String("addr", "127.0.0.1:0", "address to listen on")
	file = flag.String("data", "", "the people and tokens, in JSON")
)

// Load parses the command line and reads the data set. It ends the process on errors.
func Load() Set {
	flag.Parse()
	text, err := os.ReadFile(*file)
	Must(err)
	var s Set
	Must(json.Unmarshal(text, &s))
	return s
}

// Must ends the process on an error.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve serves until the process is ended.
func Serve(handler http.Handler) { Must(http.ListenAndServe(*Addr, handler)) }

// ServeSearch serves GET /search?q=QUERY with the people that find returns.
func ServeSearch(find func(ctx context.Context, query string) ([]Person, error)) {
	Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		people, err := find(r.Context(), r.URL.Query().Get("q"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(people)
	}))
}

// ServeTokens serves a token endpoint, and GET /seed?n=N with N refresh tokens, each of a login.
func ServeTokens(endpoint http.Handler, login func(ctx context.Context) (refresh string, err error)) {
	mux := http.NewServeMux()
	mux.Handle("/", endpoint)
	mux.HandleFunc("GET /seed", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		tokens := make([]string, n)
		for i := range tokens {
			var err error
			if tokens[i], err = login(r.Context()); err != nil || tokens[i] == "" {
				http.Error(w, fmt.Sprint("no refresh token: ", err), http.StatusInternalServerError)
				return
			}
		}
		_ = json.NewEncoder(w).Encode(tokens)
	})
	Serve(mux)
}

// Text returns one line per person, as tools answer language models.
func Text(people []Person) string {
	var b strings.Builder
	for _, p := range people {
		fmt.Fprintf(&b, "- %s <%s>, %s at %s, %s [%s]\n", p.Name, p.Email, p.Title, p.Organization, p.City, p.ID)
	}
	return b.String()
}

// Tools are the names of the tools of each MCP peer: the measured one, and others of the same shape
// for a list of realistic length.
func Tools() []string {
	return strings.Fields("search_connections get_connection create_connection update_connection delete_connection list_notes add_note list_reminders add_reminder merge_connections list_tags tag_connection")
}

// Store is the data set in SQLite.
type Store struct{ search, auth *sql.Stmt }

// Open writes the data set into a temporary database, and opens it for reading.
func Open(s Set) (*Store, error) {
	dir, err := os.MkdirTemp("", "kith-peer-")
	if err != nil {
		return nil, err
	}
	url := "file:" + dir + "/peer.db?_pragma=journal_mode(WAL)&_pragma=mmap_size(67108864)&_pragma=cache_size(-16000)"
	db, err := sql.Open("sqlite", url)
	if err != nil {
		return nil, err
	}
	if err := fill(db, s); err != nil {
		return nil, err
	}
	search, err := db.Prepare(`SELECT p.id, p.name, p.email, p.organization, p.title, p.city FROM words JOIN people p ON p.rid = words.rowid WHERE words MATCH ? LIMIT 10`)
	if err != nil {
		return nil, err
	}
	auth, err := db.Prepare(`SELECT owner, expires FROM tokens WHERE hash = ?`)
	return &Store{search, auth}, err
}

func fill(db *sql.DB, s Set) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`CREATE TABLE people (rid INTEGER PRIMARY KEY, id TEXT UNIQUE, name TEXT, email TEXT, organization TEXT, title TEXT, city TEXT)`,
		`CREATE VIRTUAL TABLE words USING fts5(name, content='people', content_rowid='rid', prefix='2 3', tokenize='unicode61 remove_diacritics 2')`,
		`CREATE TABLE tokens (hash BLOB PRIMARY KEY, owner TEXT, expires INTEGER) WITHOUT ROWID`,
	} {
		if _, err := tx.Exec(statement); err != nil {
			return err
		}
	}
	for i, p := range s.People {
		_, err := tx.Exec(`INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)`, i+1, p.ID, p.Name, p.Email, p.Organization, p.Title, p.City)
		_, wordsErr := tx.Exec(`INSERT INTO words (rowid, name) VALUES (?, ?)`, i+1, p.Name)
		if err := errors.Join(err, wordsErr); err != nil {
			return err
		}
	}
	for i, token := range s.Tokens {
		hash := sha256.Sum256([]byte(token))
		if _, err := tx.Exec(`INSERT INTO tokens VALUES (?, ?, ?)`, hash[:], fmt.Sprint("owner", i), time.Now().Add(24*time.Hour).Unix()); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Search returns up to ten people who have a name that starts with the query.
func (s *Store) Search(ctx context.Context, query string) ([]Person, error) {
	rows, err := s.search.QueryContext(ctx, `"`+strings.ReplaceAll(query, `"`, `""`)+`"*`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var people []Person
	for rows.Next() {
		var p Person
		if err := rows.Scan(&p.ID, &p.Name, &p.Email, &p.Organization, &p.Title, &p.City); err != nil {
			return nil, err
		}
		people = append(people, p)
	}
	return people, rows.Err()
}

// Auth returns the owner and the expiry of a token. It fails with sql.ErrNoRows for an unknown
// token.
func (s *Store) Auth(ctx context.Context, token string) (owner string, expires time.Time, err error) {
	hash := sha256.Sum256([]byte(token))
	var seconds int64
	err = s.auth.QueryRowContext(ctx, hash[:]).Scan(&owner, &seconds)
	return owner, time.Unix(seconds, 0), err
}
