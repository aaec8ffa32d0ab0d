-- A window that slides: the times, in µs, of the hits that were admitted.
-- KEYS[1] the list of them; ARGV: hits, window in µs, quota, and in tests the time.
-- Returns the hits admitted, the hits in the window, and µs until the oldest leaves.
local hits, window, quota = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[4])
if not now then
  local t = redis.call('TIME')
  now = t[1] * 1000000 + t[2]
end
local first = tonumber(redis.call('LINDEX', KEYS[1], 0))
-- A hit far in the future was left by a clock that has been set back since.
while first and (first <= now - window or first > now + window) do
  redis.call('LPOP', KEYS[1])
  first = tonumber(redis.call('LINDEX', KEYS[1], 0))
end
local used = redis.call('LLEN', KEYS[1])
local admitted = math.max(0, math.min(hits, quota - used))
for _ = 1, admitted do
  redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
end
if admitted > 0 then -- a second more than the window: the clock of expiry is coarser
  redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000) + 1000)
end
return {admitted, used + admitted, (first or now) + window - now}
