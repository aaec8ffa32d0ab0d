package server

import (
	"context"
	"errors"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// PingRedis returns an error unless a Redis answers. The error never repeats the address, which may
// hold a password.
func PingRedis(ctx context.Context, address string) (err error) {
	redis, err := ratelimit.NewRedis(ratelimit.RedisConfig{URL: address})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	return redis.Ping(ctx)
}
