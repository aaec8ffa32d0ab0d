-- The last wall before a read-only tenant: the database itself refuses.
CREATE TRIGGER connections_read_only_insert BEFORE INSERT ON connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER connections_read_only_update BEFORE UPDATE ON connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER connections_read_only_delete BEFORE DELETE ON connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER handles_read_only_insert BEFORE INSERT ON handles
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER handles_read_only_update BEFORE UPDATE ON handles
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER handles_read_only_delete BEFORE DELETE ON handles
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER organizations_read_only_insert BEFORE INSERT ON organizations
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER organizations_read_only_update BEFORE UPDATE ON organizations
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER organizations_read_only_delete BEFORE DELETE ON organizations
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER positions_read_only_insert BEFORE INSERT ON positions
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER positions_read_only_update BEFORE UPDATE ON positions
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER positions_read_only_delete BEFORE DELETE ON positions
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER tags_read_only_insert BEFORE INSERT ON tags
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER tags_read_only_update BEFORE UPDATE ON tags
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER tags_read_only_delete BEFORE DELETE ON tags
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER connection_tags_read_only_insert BEFORE INSERT ON connection_tags
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER connection_tags_read_only_update BEFORE UPDATE ON connection_tags
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER connection_tags_read_only_delete BEFORE DELETE ON connection_tags
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER notes_read_only_insert BEFORE INSERT ON notes
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER notes_read_only_update BEFORE UPDATE ON notes
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER notes_read_only_delete BEFORE DELETE ON notes
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER note_connections_read_only_insert BEFORE INSERT ON note_connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER note_connections_read_only_update BEFORE UPDATE ON note_connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER note_connections_read_only_delete BEFORE DELETE ON note_connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER interactions_read_only_insert BEFORE INSERT ON interactions
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER interactions_read_only_update BEFORE UPDATE ON interactions
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER interactions_read_only_delete BEFORE DELETE ON interactions
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER interaction_connections_read_only_insert BEFORE INSERT ON interaction_connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER interaction_connections_read_only_update BEFORE UPDATE ON interaction_connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER interaction_connections_read_only_delete BEFORE DELETE ON interaction_connections
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER changes_read_only_insert BEFORE INSERT ON changes
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = NEW.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER changes_read_only_update BEFORE UPDATE ON changes
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
--bun:split
CREATE TRIGGER changes_read_only_delete BEFORE DELETE ON changes
WHEN (SELECT read_only FROM tenant_states WHERE tenant_id = OLD.tenant_id)
BEGIN SELECT RAISE(ABORT, 'kith: tenant is read-only'); END;
