// Package photos keeps the photos of people.
//
// A photo is read once (Read), without a transaction: its type is decided by its content, its
// size by its header before it is decoded. What is stored is a square in three sizes, encoded
// anew, so nothing else of the file stays: no place, no camera, no comments.
//
// A person's row names the current photo (connections.photo). The id is a hash of the largest
// size, so it is also the version in the addresses of pictures. Changing the name is a change
// like any other, with the ids before and after; the rows of the photo itself are kept for 30
// days after nobody uses them (Sweep), so that it can be undone, and no longer than the person:
// history.Forget deletes them.
package photos
