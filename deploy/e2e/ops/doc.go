// Package ops is a chaos test: it runs Kith as in production and kills and restarts every
// process under load. There are two edges and two backends on PostgreSQL and Redis, with
// Prometheus and Alertmanager, all of them real processes on ports of this machine. Clients
// write, read and record every answer while each process is killed in turn, servers go down
// and return, and edges and backends are rolled to a second build with one more migration.
//
// The rules, Prometheus and Alertmanager are those of the compose file, with every
// duration divided by 30, so that what takes an hour there takes two minutes here.
// Thresholds are unchanged.
//
// A second test does the same to a cluster that survives the loss of a host: three PostgreSQL
// under Patroni with etcd, HAProxy, PgBouncer in transaction mode, and Redis with Sentinels,
// each host in a network namespace, so that the test can cut connections.
//
// Both take minutes, so `go test` leaves them out: `make e2e-ops` and `make e2e-ha` run them.
package ops
