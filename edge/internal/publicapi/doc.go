// Package publicapi serves the reads that need no credential: a member's public
// profile, as JSON and as Markdown, and pages of the public directory.
//
// Answers carry a strong ETag of their bytes and may be kept for a minute. On
// the strength of that, rendered profiles are remembered for about a second, so
// that a profile which everybody reads costs the backend one call a second.
//
// It does not decide what is public: the backend leaves out what the member did
// not publish, and members without a public profile altogether. Here an unknown,
// a private and a suspended member are the same 404.
package publicapi
