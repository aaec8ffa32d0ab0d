-- What a client registered of itself (RFC 7591), to be told again as it was stored.
ALTER TABLE clients ADD COLUMN grant_types TEXT NOT NULL DEFAULT '["authorization_code","refresh_token"]';
--bun:split
ALTER TABLE clients ADD COLUMN scope TEXT NOT NULL DEFAULT '';
