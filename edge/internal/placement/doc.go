// Package placement sends all calls of a member to the same backend, so that the backend's search
// index of the member is built once.
//
// The backends are the addresses of the configuration. A host name with several addresses is
// looked up regularly: each address is a backend. Rendezvous hashing orders the backends for
// a member: the first one that is up gets the calls. When a backend fails, only its members move,
// and they are spread over all others. When it is healthy again, they return gradually, so that
// their indexes are not all built at once.
//
// The edge does not know which member a credential belongs to. The backend's answers identify the
// member in the header Kith-Placement: an opaque text, the same for all credentials of a member.
// The edge caches it by the hash of the credential. It only decides which backend is called: each
// backend authenticates and authorises every call.
//
// A backend that refuses a connection or fails its health check is left out until a health check
// succeeds. A call that was not sent goes to the next backend. If a connection breaks, its call is
// repeated once if that is safe. If all backends are left out, all are tried.
package placement
