#!/bin/sh
# Creates Kith's database and its user. The user owns the database and can take on the two
# roles of row-level security. It is not a superuser and cannot create roles.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$KITH_DATABASE_PASSWORD" --username=postgres <<'SQL'
CREATE ROLE kith_tenant NOLOGIN;
CREATE ROLE kith_service NOLOGIN;
CREATE ROLE kith LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
GRANT kith_tenant, kith_service TO kith;
CREATE DATABASE kith OWNER kith;
SQL
