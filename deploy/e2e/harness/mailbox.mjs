// A mail server for the service, which keeps the emails that it receives.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { SMTPServer } from 'smtp-server';
import { setting } from './client.mjs';
import { keep } from './secrets.mjs';

/** Starts the mail server that the service is set to use; it requires a password. */
export async function openMailbox() {
  const emails = [];
  const waiting = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'], // client and server are on the same machine
    onAuth({ username, password }, session, done) {
      const right = username === 'kith' && password === setting('SMTP_PASSWORD');
      done(right ? null : new Error('wrong password'), { user: username });
    },
    onData(stream, session, done) {
      const chunks = [];
      stream.on('data', (chunk) => chunks.push(chunk));
      stream.on('end', () => {
        const sent = { to: session.envelope.rcptTo.map(({ address }) => address), ...read(Buffer.concat(chunks).toString()) };
        emails.push(sent);
        done();
        for (const look of waiting.splice(0)) look();
      });
    },
  });
  server.listen(Number(setting('SMTP_PORT')), '127.0.0.1').unref(); // so that a failed test can exit
  await once(server.server, 'listening');
  return {
    emails,
    /** Waits for an email to the address, with the subject if given; removes and returns it. */
    async next(to, subject) {
      for (;;) {
        const i = emails.findIndex((sent) => sent.to.includes(to) && (!subject || sent.subject === subject));
        if (i >= 0) return emails.splice(i, 1)[0];
        await new Promise((resolve) => { waiting.push(resolve); });
      }
    },
    close: () => new Promise((resolve) => { server.close(resolve); }),
  };
}

/** Returns a message's subject, its text and the link in it. */
function read(message) {
  const subject = /^Subject: (.*)$/m.exec(message)?.[1].trim();
  const text = message.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
  const link = /https?:\/\/[^\s"<>]*\?link=[\w-]+/.exec(text)?.[0];
  if (link) keep('mailed secret', new URL(link).searchParams.get('link'));
  assert.ok(subject, message);
  return { subject, text, link };
}
