package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	backend "github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
)

// settings are all settings of the service. Each is a flag and an environment variable;
// secrets have no flag (secrets.go). The defaults work on a laptop.
type settings struct {
	Addr           string        `env:"KITH_ADDR" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where the edge listens. With KITH_ACME the default is :443."`
	BaseURL        string        `env:"KITH_BASE_URL" placeholder:"URL" help:"Public address of the service, without a trailing slash; clients compare it byte for byte. Default: http://localhost and the port of KITH_ADDR, so http://localhost:8080."`
	PlainHTTP      bool          `name:"allow-plain-http" env:"KITH_ALLOW_PLAIN_HTTP" default:"false" negatable:"" help:"Allow an http:// KITH_BASE_URL of another host than this machine. Passwords and tokens are then sent unencrypted: use it only in a network that you trust."`
	EnvFile        string        `env:"KITH_ENV_FILE" placeholder:"FILE" help:"File with settings, one NAME=value on each line, as for systemd. Variables of the environment come first. Default: /etc/kith/kith.env, if it exists; empty for none."`
	DatabaseURL    string        `kong:"-" env:"KITH_DATABASE_URL" secret:"address" default:"./kith-data/kith.db" placeholder:"URL" help:"Path of a SQLite file, or a postgres:// address, with pool_mode=transaction if a pooler at that address shares connections."`
	BackupDir      string        `name:"backup-dir" env:"KITH_BACKUP_DIR" placeholder:"FOLDER" help:"Where kith backup writes files that it names itself."`
	BackupKeep     time.Duration `name:"backup-keep" env:"KITH_BACKUP_KEEP" default:"336h" help:"How long backups in KITH_BACKUP_DIR are kept: older ones are removed once a new one is complete; 0 keeps all."`
	AutoMigrate    bool          `env:"KITH_AUTO_MIGRATE" default:"true" negatable:"" help:"Migrate the database when serve or backend starts."`
	BackUpBefore   bool          `name:"backup-before-upgrade" env:"KITH_BACKUP_BEFORE_UPGRADE" default:"true" negatable:"" help:"Before an upgrade changes a SQLite database, back it up beside its file, as kith.db.before- and the number of the change. Without enough disk for that, the upgrade does not begin. PostgreSQL is not backed up."`
	AcceptNewer    bool          `name:"accept-newer-schema" env:"KITH_ACCEPT_NEWER_SCHEMA" default:"false" negatable:"" help:"Let serve and backend use a database that the next version has migrated, so that you can go back to this version. They then migrate nothing."`
	BackendAddr    string        `env:"KITH_BACKEND_ADDR" placeholder:"HOST:PORT" help:"Where the backend listens for Connect and gRPC. Default: 127.0.0.1:8082 for kith backend, no listener for kith serve."`
	BackendURLs    []string      `name:"backend-url" env:"KITH_BACKEND_URL" default:"http://127.0.0.1:8082" placeholder:"URL" help:"Where kith edge reaches the backends: one address, or several separated by commas. A host name with several IP addresses counts as several backends. The calls of a member go to the same backend while it is up."`
	Service        string        `kong:"-" env:"KITH_SERVICE_TOKEN" secret:"whole" placeholder:"SECRET" help:"Credential with which the edge and internal callers authenticate to the backend, at least 16 characters."`
	Previous       string        `kong:"-" env:"KITH_SERVICE_TOKEN_PREVIOUS" secret:"whole" placeholder:"SECRET" help:"The service token that KITH_SERVICE_TOKEN replaces: backends accept it too, until every edge has the new one."`
	AdminAddr      string        `env:"KITH_ADMIN_ADDR" default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Where /status, /metrics, /healthz, /readyz and, on a loopback address, pprof are served; off for none."`
	AdminHosts     []string      `name:"admin-hosts" env:"KITH_ADMIN_HOSTS" placeholder:"NAME" help:"Host names, in addition to localhost, by which clients such as Prometheus reach KITH_ADMIN_ADDR. Its IP address always works."`
	AdminPprof     bool          `name:"admin-pprof" env:"KITH_ADMIN_PPROF" default:"false" negatable:"" help:"Serve pprof even if KITH_ADMIN_ADDR is not a loopback address. Profiles show what is in memory."`
	Sandbox        bool          `env:"KITH_SANDBOX" default:"true" negatable:"" help:"Seed the read-only demo account and serve the sandbox. Off removes the members of the sandbox, from the directory too."`
	PrivateSources bool          `name:"private-sources" env:"KITH_PRIVATE_SOURCES" help:"Let members add calendars and address books at private addresses, such as a Nextcloud at home, also by http. Whoever has an account can then read those in this machine's network."`
	DAV            bool          `name:"dav" env:"KITH_DAV" default:"true" negatable:"" help:"Serve members' people to the address books of their phones and computers (CardDAV), and their dates to calendar programs. Off removes the paths."`
	Origins        []string      `name:"allowed-origins" env:"KITH_ALLOWED_ORIGINS" placeholder:"ORIGIN" help:"Origins of browser clients that may call MCP; * for any."`
	Instance       string        `env:"KITH_INSTANCE" placeholder:"NAME" help:"Name of this process in log lines and traces. Default: the name of the machine."`
	SlowStatements time.Duration `name:"slow-statements" env:"KITH_SLOW_STATEMENTS" default:"1s" help:"Log statements of the database that take at least so long, with their operation and table; 0 logs none."`
	LogLevel       string        `env:"KITH_LOG_LEVEL" default:"info" help:"debug, info, warn or error."`
	LogFormat      string        `env:"KITH_LOG_FORMAT" default:"text" help:"text or json."`

	SecretKeyFile   string        `name:"secret-key-file" env:"KITH_SECRET_KEY_FILE" placeholder:"FILE" help:"File with the key that encrypts the secrets of one-time codes and the addresses of calendars; all backends of one database need the same file. Default: secret.key next to the SQLite file, made at the first start. For PostgreSQL make it with kith secret create; without it members can set up neither."`
	RequireFactor   string        `name:"require-second-factor" env:"KITH_REQUIRE_SECOND_FACTOR" default:"off" placeholder:"WHO" help:"Members who need a second factor to use the pages: off for none, on for all, or the name of a plan. Their tokens and agents keep working without one."`
	SignUp          bool          `name:"sign-up" env:"KITH_SIGN_UP" default:"false" negatable:"" help:"Let people create their own accounts."`
	SMTPURL         string        `kong:"-" env:"KITH_SMTP_URL" secret:"whole" placeholder:"URL" help:"Mail server and sender, such as smtp://user:password@host:587?from=kith@example.com; without it no mail is sent."`
	AccessLifetime  time.Duration `env:"KITH_ACCESS_LIFETIME" default:"1h" help:"How long an access token is valid."`
	RefreshIdle     time.Duration `env:"KITH_REFRESH_IDLE" default:"1440h" help:"How long an unused refresh token is valid."`
	SessionLifetime time.Duration `env:"KITH_SESSION_LIFETIME" default:"336h" help:"How long a browser stays signed in at most."`
	SessionIdle     time.Duration `env:"KITH_SESSION_IDLE" default:"336h" help:"How long a browser stays signed in without being used, at least 10m."`
	PrivateSchemes  bool          `name:"allow-private-use-schemes" env:"KITH_OAUTH_ALLOW_PRIVATE_USE_SCHEMES" default:"false" negatable:"" help:"Let clients register redirect addresses such as cursor://callback."`
	ClientDocuments bool          `name:"client-documents" env:"KITH_OAUTH_CLIENT_DOCUMENTS" default:"true" negatable:"" help:"Accept clients whose id is the https address of their metadata document, and fetch it, from public addresses only. Otherwise such clients have to register."`

	ProviderIssuer string `name:"provider-issuer" env:"KITH_PROVIDER_ISSUER" placeholder:"URL" help:"Issuer of an additional OpenID provider for sign-in. Register the base URL followed by /sign-in/provider/callback there as redirect address."`
	ProviderClient string `name:"provider-client-id" env:"KITH_PROVIDER_CLIENT_ID" placeholder:"ID" help:"Client id at the provider."`
	ProviderSecret string `kong:"-" env:"KITH_PROVIDER_CLIENT_SECRET" secret:"whole" placeholder:"SECRET" help:"Client secret at the provider; empty for a public client."`
	ProviderName   string `name:"provider-name" env:"KITH_PROVIDER_NAME" placeholder:"NAME" help:"Name on the sign-in button. Default: the issuer's host."`

	BreachedFile     string   `name:"breached-passwords-file" env:"KITH_BREACHED_PASSWORDS_FILE" placeholder:"FILE" help:"File with passwords that members may not choose, such as the list of Have I Been Pwned: sorted SHA-1 hashes, one HASH or HASH:COUNT on each line. It is not loaded into memory."`
	BreachedURL      string   `name:"breached-passwords-url" env:"KITH_BREACHED_PASSWORDS_URL" placeholder:"URL" help:"API that is asked whether a new password is breached, such as https://api.pwnedpasswords.com/range. It learns 5 of the 40 digits of the password's hash. While it does not answer, passwords are not checked."`
	SecurityContacts []string `name:"security-contact" env:"KITH_SECURITY_CONTACT" placeholder:"URI" help:"Contact for reports of vulnerabilities of this site, such as mailto:security@example.com; served as /.well-known/security.txt. Without it there is no such file."`
	SecurityExpires  string   `name:"security-expires" env:"KITH_SECURITY_EXPIRES" placeholder:"DATE" help:"Day, YYYY-MM-DD, on which KITH_SECURITY_CONTACT expires; from then on the file is not served. Default: 180 days after the start."`

	Rates          map[string]string `kong:"-" env:"KITH_RATE_<POLICY>"`
	Sunsets        map[string]string `kong:"-" env:"KITH_SUNSET_<ROUTE>"`
	RedisURL       string            `kong:"-" env:"KITH_REDIS_URL" secret:"whole" placeholder:"URL" help:"Redis for rate limits that several edges count together, such as redis://localhost:6379/0, or a Sentinel with ?master_name=NAME."`
	Edges          int               `name:"edges" env:"KITH_EDGES" default:"1" help:"How many edges share the rate limits; while Redis cannot be reached, each one admits its share."`
	TrustedProxies []string          `name:"trusted-proxies" env:"KITH_TRUSTED_PROXIES" placeholder:"CIDR" help:"Proxies in front of the edge whose KITH_CLIENT_HEADER is trusted."`
	ClientHeader   string            `name:"client-header" env:"KITH_CLIENT_HEADER" default:"X-Forwarded-For" help:"Header in which trusted proxies send the client's IP address."`
	MaxInFlight    int               `name:"max-in-flight" env:"KITH_MAX_IN_FLIGHT" default:"128" help:"Maximum of concurrent requests at the edge; it is lowered while the processors are overloaded. More requests wait for up to a second and then get 503 with Retry-After if more than 64 are in flight. Negative for no bound."`

	PerAddress int `name:"connections-per-address" env:"KITH_CONNECTIONS_PER_ADDRESS" default:"256" help:"How many connections one address (IPv6: /64) may open at the edge, which accepts 4096 in all; more are closed immediately. Trusted proxies have no such bound. Negative for no bound."`

	TLSCert         string `name:"tls-cert" env:"KITH_TLS_CERT" placeholder:"FILE" help:"Certificate of the edge's listener, PEM; with KITH_TLS_KEY it serves TLS."`
	TLSKey          string `name:"tls-key" env:"KITH_TLS_KEY" placeholder:"FILE" help:"Key of the edge's listener, PEM."`
	ACME            bool   `name:"acme" env:"KITH_ACME" default:"false" negatable:"" help:"Get the certificate for the host of KITH_BASE_URL from Let's Encrypt, and renew it; this agrees to its terms of service. The edge then serves TLS, at :443 unless KITH_ADDR is set, and the host must lead there."`
	ACMEHTTPAddr    string `name:"acme-http-addr" env:"KITH_ACME_HTTP_ADDR" default:":80" placeholder:"HOST:PORT" help:"With KITH_ACME, where http is redirected to KITH_BASE_URL and challenges of the authority are answered, which asks at port 80; off for none, since it can ask at 443 too."`
	ACMEContact     string `name:"acme-contact" env:"KITH_ACME_CONTACT" placeholder:"ADDRESS" help:"Mail address that the authority of KITH_ACME may write to. Let's Encrypt needs none."`
	ACMEDirectory   string `name:"acme-directory" env:"KITH_ACME_DIRECTORY" default:"https://acme-v02.api.letsencrypt.org/directory" placeholder:"URL" help:"Directory of another authority for KITH_ACME (RFC 8555)."`
	ACMECache       string `name:"acme-cache" env:"KITH_ACME_CACHE" placeholder:"FOLDER" help:"Where KITH_ACME keeps the certificate and its keys. Default: certificates next to the SQLite file."`
	BackendTLSCert  string `name:"backend-tls-cert" env:"KITH_BACKEND_TLS_CERT" placeholder:"FILE" help:"Certificate of the backend's listener; on the edge, the client certificate for the backend."`
	BackendTLSKey   string `name:"backend-tls-key" env:"KITH_BACKEND_TLS_KEY" placeholder:"FILE" help:"Key of KITH_BACKEND_TLS_CERT."`
	BackendClientCA string `name:"backend-client-ca" env:"KITH_BACKEND_CLIENT_CA" placeholder:"FILE" help:"Certificate authority of client certificates that the backend requires (mutual TLS), instead of the service credential."`
	BackendCA       string `name:"backend-ca" env:"KITH_BACKEND_CA" placeholder:"FILE" help:"Certificate authority that the edge trusts for the backend's certificate."`

	CreditsFree int `env:"KITH_CREDITS_FREE" default:"1000" help:"Credits per UTC calendar month for a member of the plan free; a change applies from the next month, or when a member's plan changes."`
	CreditsPro  int `env:"KITH_CREDITS_PRO" default:"20000" help:"Credits per UTC calendar month for a member of the plan pro."`

	EmbeddingsURL        string `name:"embeddings-url" env:"KITH_EMBEDDINGS_URL" placeholder:"URL" help:"Base URL of an OpenAI-compatible embeddings API, such as https://api.example.com/v1, for search by meaning; members must allow it. Without it, vectors are made inside the service and compare spelling."`
	EmbeddingsKey        string `kong:"-" env:"KITH_EMBEDDINGS_KEY" secret:"whole" placeholder:"SECRET" help:"API key for KITH_EMBEDDINGS_URL; empty for none."`
	EmbeddingsModel      string `name:"embeddings-model" env:"KITH_EMBEDDINGS_MODEL" placeholder:"NAME" help:"Model at KITH_EMBEDDINGS_URL."`
	EmbeddingsDimensions int    `name:"embeddings-dimensions" env:"KITH_EMBEDDINGS_DIMENSIONS" default:"0" help:"Dimensions of a vector, for models that support several; 0 for the model's default."`
	EmbeddingsRate       int    `name:"embeddings-rate" env:"KITH_EMBEDDINGS_RATE" default:"300" help:"Maximum of requests a minute that this process sends to KITH_EMBEDDINGS_URL."`

	JobWorkers int `name:"job-workers" env:"KITH_JOB_WORKERS" default:"2" help:"How many jobs, such as imports, a backend runs at once; 0 for none, if another backend runs them."`

	DatabaseConns int    `name:"database-conns" env:"KITH_DATABASE_CONNS" default:"32" help:"Maximum of connections from a backend to its database, at least 4."`
	SQLiteSync    string `name:"sqlite-sync" env:"KITH_SQLITE_SYNC" default:"full" enum:"full,normal" help:"full: a write to SQLite is answered once it is on the disk. normal: writes are faster on slow disks, and a power cut loses those of the last seconds. The file is never damaged."`
	SearchMemory  int64  `name:"search-memory" env:"KITH_SEARCH_MEMORY" default:"256" help:"MiB of search indexes that a backend holds; the least recently used ones are dropped."`
	VectorMemory  int64  `name:"vector-memory" env:"KITH_VECTOR_MEMORY" default:"256" help:"MiB of vectors that a backend holds; the least recently used ones are dropped."`

	MemberStorage int64 `name:"member-storage" env:"KITH_MEMBER_STORAGE" default:"2048" help:"MiB of photos, uploaded files and recorded changes that a member may have; 0 for no limit."`

	ProfileCache  time.Duration `env:"KITH_PROFILE_CACHE" default:"1s" help:"How long the edge may repeat a public profile without asking the backend."`
	ConnectionAge time.Duration `name:"connection-max-age" env:"KITH_CONNECTION_MAX_AGE" default:"5m" help:"Age at which a connection to the edge or the backend is closed, after an answer, so that new processes get their share; 0 for no bound."`
	StopTimeout   time.Duration `env:"KITH_STOP_TIMEOUT" default:"20s" help:"How long running calls may take when the service stops."`
}

// resolve sets defaults that depend on other settings, and returns an error for invalid
// settings.
func (s *settings) resolve() error {
	if s.ACME && s.Addr == edge.DefaultAddr {
		s.Addr = acmeAddr
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return fmt.Errorf("KITH_ADDR %q is not host:port", s.Addr)
	}
	if port == "0" && s.BaseURL == "" { // choose the port now, because the base URL contains it
		if s.Addr, err = freeAddr(host); err != nil {
			return err
		}
		_, port, _ = net.SplitHostPort(s.Addr)
	}
	if s.JobWorkers < 0 {
		return fmt.Errorf("KITH_JOB_WORKERS %d is negative: use 0 for none", s.JobWorkers)
	}
	if s.ConnectionAge < 0 {
		return fmt.Errorf("KITH_CONNECTION_MAX_AGE %s is negative: use 0 for no limit", s.ConnectionAge)
	}
	if s.Rates, err = rateLimits(os.Environ()); err != nil {
		return err
	}
	if s.Sunsets, err = sunsets(os.Environ()); err != nil {
		return err
	}
	if s.BaseURL == "" {
		s.BaseURL = "http://localhost:" + port
	}
	u, err := url.Parse(s.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return fmt.Errorf("KITH_BASE_URL %q must be an address like https://kith.example, without a path or a slash at the end", s.BaseURL)
	}
	if u.Scheme == "http" && !s.PlainHTTP && !isLoopback(u.Hostname()) {
		return fmt.Errorf("KITH_BASE_URL %s is not https, so passwords and tokens would be sent unencrypted: terminate TLS in front of kith or set KITH_ACME or KITH_TLS_CERT, "+
			"and use https://; or set KITH_ALLOW_PLAIN_HTTP=true on a private network", s.BaseURL)
	}
	return s.resolveACME(u)
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// freeAddr returns an address with a free port.
func freeAddr(host string) (string, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0")) //nolint:noctx // closed at once
	if err != nil {
		return "", fmt.Errorf("no port is free on KITH_ADDR's host: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// adminHosts returns the host names of the admin listener: that in its address, if any,
// and KITH_ADMIN_HOSTS.
func (s *settings) adminHosts() []string {
	hosts := slices.Clone(s.AdminHosts)
	if host, _, err := net.SplitHostPort(s.AdminAddr); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	return hosts
}

// identityProvider returns the identity provider, or nil.
func (s *settings) identityProvider() *backend.IdentityProvider {
	if s.ProviderIssuer == "" {
		return nil
	}
	return &backend.IdentityProvider{
		Issuer: s.ProviderIssuer, ClientID: s.ProviderClient, ClientSecret: s.ProviderSecret, Name: s.ProviderName,
	}
}

// breached returns the file and the API with passwords that members may not choose.
func (s *settings) breached() backend.BreachedPasswords {
	return backend.BreachedPasswords{File: s.BreachedFile, URL: s.BreachedURL}
}

// securityLifetime is how long the security contact holds if no date is set.
const securityLifetime = 180 * 24 * time.Hour

// securityExpires returns when the security contact expires.
func (s *settings) securityExpires(now time.Time) (time.Time, error) {
	if s.SecurityExpires == "" {
		return now.Add(securityLifetime), nil
	}
	at, err := time.Parse(time.DateOnly, s.SecurityExpires)
	if err != nil {
		return at, fmt.Errorf("KITH_SECURITY_EXPIRES %q is not a date like 2027-01-31", s.SecurityExpires)
	}
	return at, nil
}

// embeddings returns the remote embedding provider, or nil.
func (s *settings) embeddings() *backend.Embeddings {
	if s.EmbeddingsURL == "" {
		return nil
	}
	return &backend.Embeddings{
		URL: s.EmbeddingsURL, Key: s.EmbeddingsKey, Model: s.EmbeddingsModel, Dimensions: s.EmbeddingsDimensions, PerMinute: s.EmbeddingsRate,
	}
}

// jobWorkers returns the setting for the backend, where 0 means its default and -1 none.
func (s *settings) jobWorkers() int {
	if s.JobWorkers == 0 {
		return -1
	}
	return s.JobWorkers
}

// credits returns the monthly credits by plan.
func (s *settings) credits() map[string]int {
	return map[string]int{"free": s.CreditsFree, "pro": s.CreditsPro}
}

const masked = "[masked]"

// maskAddress returns the scheme, user, host and path of an address. Passwords may also be
// in the query, or in an address that cannot be parsed, so the rest is masked.
func maskAddress(text string) string {
	if !strings.Contains(text, "://") {
		if strings.Contains(strings.ToLower(text), "password") {
			return masked
		}
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return masked
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	out := shown.String()
	if user := u.User.Username(); user != "" {
		out = strings.Replace(out, "://", "://"+url.QueryEscape(user)+"@", 1)
	}
	return out + maskQuery(u.Query())
}

// maskQuery returns the parameters that are known to contain no secret.
func maskQuery(query url.Values) string {
	shown := url.Values{}
	for _, name := range []string{"sslmode", "connect_timeout", "application_name"} {
		if query.Has(name) {
			shown.Set(name, query.Get(name))
		}
	}
	switch {
	case len(query) == 0:
		return ""
	case len(shown) == len(query):
		return "?" + shown.Encode()
	case len(shown) == 0:
		return "?" + masked
	default:
		return "?" + shown.Encode() + "&" + masked
	}
}

// print writes the settings, one per line, as shell assignments.
func (s *settings) print(out io.Writer) error {
	value := reflect.ValueOf(*s)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if values, ok := reflect.TypeAssert[map[string]string](value.Field(i)); ok {
			prefix, _, _ := strings.Cut(field.Tag.Get("env"), "<")
			if err := printNamed(out, prefix, values); err != nil {
				return err
			}
			continue
		}
		text := fmt.Sprint(value.Field(i).Interface())
		if list, ok := reflect.TypeAssert[[]string](value.Field(i)); ok {
			text = strings.Join(list, ",")
		}
		if field.Tag.Get("secret") == "whole" && text != "" {
			text = masked
		}
		text = maskAddress(text)
		if _, err := fmt.Fprintf(out, "%s=%s\n", field.Tag.Get("env"), text); err != nil {
			return err
		}
	}
	return printTracing(out, os.Environ())
}

// printTracing writes the settings of OpenTelemetry. Headers contain credentials and are
// masked.
func printTracing(out io.Writer, environ []string) error {
	for _, line := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "OTEL_") || value == "" {
			continue
		}
		if strings.HasSuffix(name, "HEADERS") {
			value = masked
		}
		if _, err := fmt.Fprintf(out, "%s=%s\n", name, maskAddress(value)); err != nil {
			return err
		}
	}
	return nil
}
