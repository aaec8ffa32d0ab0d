// Chromium's virtual authenticator for passkeys, and an app for one-time codes.
import { createHmac } from 'node:crypto';
import { setTimeout as until } from 'node:timers/promises';
import { keep } from './secrets.mjs';

/**
 * Gives the page an authenticator, by the options of CDP's WebAuthn.addVirtualAuthenticator. It answers
 * at once.
 */
export async function plugIn({ context, page }, options = {}) {
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true,
      ...options,
    },
  });
  const send = (method, more = {}) => cdp.send(`WebAuthn.${method}`, { authenticatorId, ...more });
  return {
    /** Whether the person touches it when it asks; otherwise it waits. */
    touches: (enabled) => send('setAutomaticPresenceSimulation', { enabled }),
    /** Whether the person passes the check of their finger. */
    verifies: (isUserVerified) => send('setUserVerified', { isUserVerified }),
    async passkeys() { return (await send('getCredentials')).credentials; },
    async take(...credentials) {
      for (const credential of credentials) await send('addCredential', { credential });
    },
    async clear() { await send('clearCredentials'); },
    async unplug() { await send('removeVirtualAuthenticator'); },
  };
}

/** An app for one-time codes (RFC 6238). Each call returns another code, which works at the time. */
export function codesOf(secret) {
  keep('TOTP secret', secret);
  const bits = [...secret.replace(/\s/g, '')].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  let last = 0;
  return async () => {
    // The site takes the codes of the last, this and the next half minute. One that is about to be too old
    // is left out.
    const step = (ago = 0) => Math.floor((Date.now() - ago) / 30_000);
    last = Math.max(last + 1, step(15_000));
    while (last > step() + 1) await until(30_000 - (Date.now() % 30_000)); // only the clock makes the next code
    const message = Buffer.alloc(8);
    message.writeBigUInt64BE(BigInt(last));
    const hash = createHmac('sha1', key).update(message).digest();
    const code = hash.readUInt32BE(hash[19] & 15) & 0x7fffffff;
    return String(code % 1_000_000).padStart(6, '0');
  };
}
