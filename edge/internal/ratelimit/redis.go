package ratelimit

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // for the scripts
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Defaults of the Redis store. With the defaults of the library, an outage of Redis would delay
// every answer by seconds, and again for each retry.
const (
	// DefaultRedisPrefix is the prefix of all keys.
	DefaultRedisPrefix = "kith:rate:"
	// RedisTimeout is how long one read or write may take.
	RedisTimeout = 40 * time.Millisecond
	// RedisDialTimeout is how long connecting may take.
	RedisDialTimeout = 50 * time.Millisecond
)

//go:embed fixed.lua
var fixedSource string

//go:embed sliding.lua
var slidingSource string

// RedisConfig configures a Redis store.
type RedisConfig struct {
	// URL is redis://[user:password@]host[:port][/db], rediss:// for TLS, or
	// unix://path. Parameters of go-redis may follow, such as
	// ?read_timeout=100ms&pool_size=50; by default the timeouts above apply.
	// With ?master_name=NAME it is the address of a Sentinel, which tells which Redis is the
	// primary; &addr=host:port adds another Sentinel.
	URL string
	// Prefix is the prefix of all keys. Defaults to DefaultRedisPrefix.
	Prefix string
	// Secret is the key of the hash of addresses and credential ids, and the same on every edge.
	// Without it, a reader of Redis can find an address by hashing all addresses.
	Secret []byte
}

// Redis counts in a Redis that several edges share. Each Take runs one script on one key,
// so it is atomic and works with a Redis Cluster behind a proxy. Keys expire with their
// windows. The clock is the server's, so the clocks of the edges do not matter.
//
// Take returns the errors of Redis; Fallback handles them.
type Redis struct {
	client *redis.Client
	prefix string
	secret [sha256.Size]byte

	fixed, sliding *redis.Script
	now            func() time.Time // in tests; nil is the server's clock
}

// NewRedis returns a store for the Redis at c.URL, without connecting to it. The
// error never repeats the address, which may hold a password.
func NewRedis(c RedisConfig) (*Redis, error) {
	client, err := redisClient(c.URL)
	if err != nil {
		return nil, fmt.Errorf("read the address of Redis: %w", err)
	}
	// The library would also log the errors that it returns to standard error.
	logging.Disable()
	return &Redis{
		client:  client,
		prefix:  cmp.Or(c.Prefix, DefaultRedisPrefix),
		secret:  sha256.Sum256(c.Secret),
		fixed:   redis.NewScript(fixedSource),
		sliding: redis.NewScript(slidingSource),
	}, nil
}

// masterName is the parameter that tells the address of a Sentinel from that of a Redis.
const masterName = "master_name"

func redisClient(address string) (*redis.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a URL, such as redis://localhost:6379/0")
	}
	if u.Query().Has(masterName) {
		options, err := sentinelOptions(address)
		if err != nil {
			return nil, err
		}
		return redis.NewFailoverClient(options), nil
	}
	options, err := redisOptions(address)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(options), nil
}

func redisOptions(address string) (*redis.Options, error) {
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, err
	}
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.DialerRetries = 1 // 5 by default, with 100 ms in between
	o.ReadTimeout = cmp.Or(o.ReadTimeout, RedisTimeout)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, RedisTimeout)
	o.PoolTimeout = cmp.Or(o.PoolTimeout, RedisTimeout)
	o.DialTimeout = cmp.Or(o.DialTimeout, RedisDialTimeout)
	// Features that scripts do not need would only make connecting slower.
	o.Protocol = 2
	o.PipelinePoolSize = -1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// sentinelOptions are those of redisOptions, for the Redis that Sentinels name.
func sentinelOptions(address string) (*redis.FailoverOptions, error) {
	o, err := redis.ParseFailoverURL(address)
	if err != nil {
		return nil, err
	}
	if o.MasterName == "" {
		return nil, errors.New("master_name is empty: give the name that the Sentinels watch the primary by")
	}
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ReadTimeout = cmp.Or(o.ReadTimeout, RedisTimeout)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, RedisTimeout)
	o.PoolTimeout = cmp.Or(o.PoolTimeout, RedisTimeout)
	o.DialTimeout = cmp.Or(o.DialTimeout, RedisDialTimeout)
	o.Protocol = 2
	o.PipelinePoolSize = -1
	o.DisableIdentity = true
	return o, nil
}

// Take implements Store. It ends at the deadline of ctx or after the timeouts of the configuration.
func (r *Redis) Take(ctx context.Context, p Policy, key string, n int) (Taken, error) {
	if err := checkTake(p, n); err != nil {
		return Taken{}, err
	}
	take := r.takeFixed
	if p.Sliding {
		take = r.takeSliding
	}
	taken, err := take(ctx, p, r.name(p, key), n)
	if err != nil {
		return Taken{}, fmt.Errorf("count in Redis: %w", err)
	}
	return taken, nil
}

func (r *Redis) takeFixed(ctx context.Context, p Policy, name string, n int) (Taken, error) {
	reply, err := r.run(ctx, r.fixed, 2, name, n, p.Window.Milliseconds())
	if err != nil {
		return Taken{}, err
	}
	used, left := int(reply[0]), time.Duration(reply[1])*time.Millisecond
	return Taken{
		Admitted:  max(0, min(n, p.Quota-(used-n))),
		Remaining: max(0, p.Quota-used),
		Reset:     max(left, time.Millisecond), // 0 is the window's last millisecond
	}, nil
}

func (r *Redis) takeSliding(ctx context.Context, p Policy, name string, n int) (Taken, error) {
	now := ""
	if r.now != nil {
		now = fmt.Sprint(r.now().UnixMicro())
	}
	reply, err := r.run(ctx, r.sliding, 3, name, n, p.Window.Microseconds(), p.Quota, now)
	if err != nil {
		return Taken{}, err
	}
	return Taken{
		Admitted:  int(reply[0]),
		Remaining: max(0, p.Quota-int(reply[1])),
		Reset:     time.Duration(reply[2]) * time.Microsecond,
	}, nil
}

// run runs a script and returns the numbers of its answer.
func (r *Redis) run(ctx context.Context, script *redis.Script, numbers int, name string, args ...any) ([]int64, error) {
	reply, err := script.Run(ctx, r.client, []string{name}, args...).Int64Slice()
	if err == nil && len(reply) != numbers {
		err = fmt.Errorf("the script answered %d numbers, not %d", len(reply), numbers)
	}
	return reply, err
}

// name returns the Redis key of the window of key under p. It has the policy's name in plain text
// and a 128-bit hash of the key and of everything else that identifies the window.
func (r *Redis) name(p Policy, key string) string {
	var room [256]byte
	b := append(room[:0], r.secret[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Window))
	if p.Sliding {
		b = append(b, 's')
	}
	b = append(b, 0)
	b = append(b, p.Name...)
	b = append(b, 0)
	sum := sha256.Sum256(append(b, key...))

	b = append(room[:0], r.prefix...)
	b = append(b, p.Name...)
	b = append(b, ':')
	return string(base64.RawURLEncoding.AppendEncode(b, sum[:16]))
}

// Close closes the connections.
func (r *Redis) Close() error { return r.client.Close() }

// Ping returns an error unless the server answers.
func (r *Redis) Ping(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ask Redis: %w", err)
	}
	return nil
}
