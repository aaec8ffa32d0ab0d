-- A window that is fixed and begins with its first hit.
-- KEYS[1] its count; ARGV: hits, window in ms.
-- Returns the hits in the window, including these and refused ones, and the ms to its end.
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return {used, left}
