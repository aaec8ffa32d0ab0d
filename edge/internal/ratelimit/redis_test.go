package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// The keys in Redis show the policies, but no addresses.
func TestRedisKeysHideAddresses(t *testing.T) {
	t.Parallel()
	address, ok := redisAddress(t)
	if !ok {
		return
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	prefix := newPrefix()
	r := openRedis(t, patient(t, address), prefix)
	take(t, r, perMinute, "203.0.113.9", 1)
	take(t, r, slidingMinute(), "203.0.113.9", 1)
	keys, err := client.Keys(t.Context(), prefix+"*").Result()
	if err != nil || len(keys) != 2 {
		t.Fatalf("keys %q, %v", keys, err)
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, prefix+"p:") || strings.Contains(key, "203.0") || len(key) != len(prefix)+len("p:")+22 {
			t.Errorf("key %q", key)
		}
		left, err := client.PTTL(t.Context(), key).Result()
		if err != nil || left <= 0 || left > time.Minute+time.Second {
			t.Errorf("%q ends in %s, %v", key, left, err)
		}
	}
}

// With master_name the address is that of a Sentinel.
func TestSentinelAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://:hunter2@localhost:1?master_name=kith&addr=localhost:2&read_timeout=1s": "",
		"redis://:hunter2@localhost:1?master_name=":                                      "master_name is empty",
		"redis://:hunter2@localhost:1?master_name=kith&no=1":                             "no",
		"http://:hunter2@localhost:1?master_name=kith":                                   "scheme",
	} {
		r, err := ratelimit.NewRedis(ratelimit.RedisConfig{URL: address})
		if err == nil {
			err = r.Close()
		}
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestRedisKeyNames(t *testing.T) {
	t.Parallel()
	open := func(secret string) *ratelimit.Redis {
		r, err := ratelimit.NewRedis(ratelimit.RedisConfig{URL: "redis://localhost", Secret: []byte(secret)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	one, same, other := open("a"), open("a"), open("b")
	hourly, renamed, quota := perMinute, perMinute, perMinute
	hourly.Window, renamed.Name, quota.Quota = time.Hour, "q", 9
	name := one.KeyName(perMinute, "k")
	if !strings.HasPrefix(name, "kith:rate:p:") || name != same.KeyName(perMinute, "k") || name != one.KeyName(quota, "k") {
		t.Errorf("name %q", name)
	}
	for what, differs := range map[string]string{
		"secret": other.KeyName(perMinute, "k"), "key": one.KeyName(perMinute, "l"), "window": one.KeyName(hourly, "k"),
		"policy": one.KeyName(renamed, "k"), "kind": one.KeyName(slidingMinute(), "k"), "long key": one.KeyName(perMinute, strings.Repeat("k", 999)),
	} {
		if differs == name {
			t.Errorf("another %s has the same name", what)
		}
	}
}

func TestRedisAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://:hunter2@host:port/0":              "it is not a URL, such as redis://localhost:6379/0",
		"redis://u:hun%ter2@host":                   "it is not a URL, such as redis://localhost:6379/0",
		"http://:hunter2@host":                      "invalid URL scheme: http",
		"redis://:hunter2@host/zero":                "invalid database number",
		"redis://:hunter2@host/0?raed_timeout=1s":   "unexpected option: raed_timeout",
		"redis://:hunter2@host/0?read_timeout=soon": "invalid read_timeout duration",
		"":                                  "invalid URL scheme",
		"rediss://kith:hunter2@host:6380/1": "",
		"unix:///run/redis.sock":            "",
		"redis://host?read_timeout=100ms&pool_size=9": "",
	} {
		r, err := ratelimit.NewRedis(ratelimit.RedisConfig{URL: address})
		if r != nil {
			_ = r.Close()
		}
		if (err == nil) != (want == "") {
			t.Errorf("%s: got %v", address, err)
		}
		if err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hun")) {
			t.Errorf("%s: got %q", address, err)
		}
	}
}

// After the clock is set back, no key is refused for longer than a window.
func TestRedisClockSetBack(t *testing.T) {
	t.Parallel()
	address, ok := redisAddress(t)
	if !ok {
		return
	}
	c := newClock()
	r := openRedis(t, patient(t, address), newPrefix())
	r.SetClock(c.Now)
	p := slidingMinute()
	want(t, take(t, r, p, "k", 2), 2, 0)
	c.Add(-time.Second)
	want(t, take(t, r, p, "k", 1), 0, 0)
	c.Add(-time.Hour)
	want(t, take(t, r, p, "k", 1), 1, 1)
}
