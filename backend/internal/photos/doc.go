// Package photos keeps the photos of people.
//
// Read decodes a photo once, outside a transaction. It detects the type from the content, and
// checks the size in the header before it decodes. Only a square in three sizes is stored. It is
// encoded again, so that no metadata of the file is kept: no place, no camera, no comments.
//
// A person's row has the id of the current photo (connections.photo). The id is a hash of the
// largest size; the addresses of pictures contain it as their version. Setting a photo is
// recorded as a change, with the id before and after. Sweep deletes photos that were unused for
// 30 days; until then the change can be undone. history.Forget deletes a person's photos when the
// person is permanently deleted.
package photos
