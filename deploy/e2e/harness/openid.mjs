// An application that requests access with openid-client.
import * as oauth from 'openid-client';
import { setting } from './client.mjs';
import { keep } from './secrets.mjs';

/** Registers an application, whose authorization responses go to the callback. */
export async function register(name, callback) {
  const base = setting('BASE_URL');
  const config = await oauth.dynamicClientRegistration(new URL(base), {
    client_name: name, redirect_uris: [callback.uri], grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'], token_endpoint_auth_method: 'none',
  }, oauth.None(), { algorithm: 'oauth2', execute: [oauth.allowInsecureRequests] });
  const resource = `${base}/mcp/v1`;

  function known(tokens) {
    keep('access token', tokens.access_token);
    keep('refresh token', tokens.refresh_token);
    return tokens;
  }

  return {
    config,
    /** Returns the URL of an authorization request, and the values to check the response with. */
    async ask(parameters = {}) {
      const pkceCodeVerifier = keep('code verifier', oauth.randomPKCECodeVerifier());
      const expectedState = oauth.randomState();
      const url = oauth.buildAuthorizationUrl(config, {
        redirect_uri: callback.uri, scope: 'connections timeline account write', state: expectedState, resource,
        code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier), code_challenge_method: 'S256', ...parameters,
      });
      return { url, checks: { pkceCodeVerifier, expectedState } };
    },
    /** Exchanges an authorization response for tokens. */
    redeem: async (answer, checks) => known(await oauth.authorizationCodeGrant(config, answer, checks, { resource })),
    refresh: async (tokens) => known(await oauth.refreshTokenGrant(config, tokens.refresh_token)),
    revoke: (token) => oauth.tokenRevocation(config, token),
  };
}
