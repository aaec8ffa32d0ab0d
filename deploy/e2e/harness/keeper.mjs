// The OAuth provider of the official SDK, which stores tokens and registrations.
import assert from 'node:assert/strict';
import { setting } from './client.mjs';
import { keep } from './secrets.mjs';

/** Implements OAuthClientProvider of the official SDK in memory. */
export class Keeper {
  #callback;
  #state;
  #client;
  #tokens;
  #verifier;
  #discovery;

  constructor(name, callback) {
    this.#callback = callback;
    this.name = name;
    this.asked = []; // addresses that the user was redirected to
    this.pairs = []; // received pairs of tokens
  }

  get redirectUrl() { return this.#callback.uri; }
  get clientMetadata() {
    return { client_name: this.name, redirect_uris: [this.#callback.uri], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' };
  }

  state() { return (this.#state = keep('state', crypto.randomUUID())); }
  clientInformation() { return this.#client; }
  saveClientInformation(client) { this.#client = client; }
  tokens() { return this.#tokens; }
  saveTokens(tokens) {
    this.#tokens = tokens;
    this.pairs.push(tokens);
    keep('access token', tokens.access_token);
    keep('refresh token', tokens.refresh_token);
  }

  redirectToAuthorization(url) { this.asked.push(url); }
  saveCodeVerifier(verifier) { this.#verifier = keep('code verifier', verifier); }
  codeVerifier() { return this.#verifier; }
  saveDiscoveryState(discovery) { this.#discovery = discovery; }
  discoveryState() { return this.#discovery; }
  invalidateCredentials(what) {
    if (what === 'all' || what === 'tokens') this.#tokens = undefined;
    if (what === 'all' || what === 'client') this.#client = undefined;
    if (what === 'all' || what === 'discovery') this.#discovery = undefined;
  }

  /** Leaves the callback's port to another listener. */
  stopListening() { this.#callback.close(); }

  /** Waits for the redirect and returns the authorization code; null if the person refused. */
  async code() {
    const { url } = await this.#callback.next();
    assert.equal(url.searchParams.get('state'), this.#state);
    assert.equal(url.searchParams.get('iss'), setting('BASE_URL'));
    return url.searchParams.get('code');
  }
}
