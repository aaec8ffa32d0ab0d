// Package placement sends all calls of a member to the same backend, so that the backend's search
// index of the member is built once.
//
// The backends are the addresses of the configuration. A host name with several addresses is
// looked up again and again: each address is a backend. Rendezvous hashing orders the backends for
// a member: the first one that is up gets the calls. When a backend goes, only its members move,
// and they are spread over all others. When it returns, they return over a time, so that not all
// of their indexes are built at once.
//
// The edge does not know whose a credential is. The backend says so in the header Kith-Placement
// of its answers: an opaque text, the same for all credentials of a member. The edge remembers it
// by the hash of the credential. It decides only which backend is asked: each backend
// authenticates and authorises every call.
//
// A backend that refuses a connection or fails its health check is left out until a health check
// succeeds. Calls that never left are sent to the next backend; so are calls that can be repeated,
// once, when their connection breaks. If all backends are left out, all are tried.
package placement
