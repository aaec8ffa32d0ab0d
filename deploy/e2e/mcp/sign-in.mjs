// Run by TestClientsSignIn: node sign-in.mjs CLIENT. The client starts without a credential at the address that /connect
// gives it. Where it sends the person goes to standard error, and its answer to get_account to standard output.
import { listenForCallback } from '../harness/callback.mjs';
import { setting } from '../harness/client.mjs';
import { signIns } from '../harness/clients.mjs';
import { Keeper } from '../harness/keeper.mjs';

class Asker extends Keeper {
  redirectToAuthorization(url) {
    console.error(`${url.pathname}${url.search}`);
  }
}

const [name] = process.argv.slice(2);
const waiting = setInterval(() => {}, 1000); // the callback's listener alone does not keep the program running
const callback = await listenForCallback();
const client = await signIns[name](`${setting('BASE_URL')}/mcp/v1/me`, new Asker(name, callback));
console.log(await client.call('get_account', {}));
await client.close();
callback.close();
clearInterval(waiting);
