// Reads ZIP archives (APPNOTE.TXT, sections 4.3.12 and 4.3.16) of files of ordinary size.
import { inflateRawSync } from 'node:zlib';

/** The texts in an archive, by their names. */
export function unzip(archive) {
  const files = new Map();
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end < 0) throw new Error('this is no ZIP archive');
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, packed] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 20)];
    const [name, extra, comment] = [28, 30, 32].map((field) => archive.readUInt16LE(at + field));
    const local = archive.readUInt32LE(at + 42);
    const begin = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const data = archive.subarray(begin, begin + packed);
    files.set(archive.toString('utf8', at + 46, at + 46 + name), (method === 8 ? inflateRawSync(data) : data).toString('utf8'));
    at += 46 + name + extra + comment;
  }
  return files;
}
