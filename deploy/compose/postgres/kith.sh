#!/bin/sh
# Makes Kith's database and its user. The user owns the database and takes on the two
# roles of row-level security; it is no superuser and makes no roles.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$KITH_DATABASE_PASSWORD" --username=postgres <<'SQL'
CREATE ROLE kith_tenant NOLOGIN;
CREATE ROLE kith_service NOLOGIN;
CREATE ROLE kith LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
GRANT kith_tenant, kith_service TO kith;
CREATE DATABASE kith OWNER kith;
SQL
