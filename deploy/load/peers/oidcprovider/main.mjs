// The token endpoint of oidc-provider with its storage in memory. GET /seed?n=N returns N
// refresh tokens.
import Provider from 'oidc-provider';

const addr = process.argv[process.argv.indexOf('-addr') + 1];
const clientID = 'web';
const provider = new Provider(`http://${addr}`, {
  clients: [{ client_id: clientID, token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'], redirect_uris: ['https://bench.example/callback'] }],
  routes: { token: '/oauth/token' },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
});

async function refreshToken() {
  const grant = new provider.Grant({ accountId: 'member', clientId: clientID });
  grant.addOIDCScope('openid offline_access');
  const client = await provider.Client.find(clientID);
  return new provider.RefreshToken({
    accountId: 'member', client, grantId: await grant.save(), scope: 'openid offline_access', gty: 'authorization_code', rotations: 0,
  }).save();
}

provider.use(async (ctx, next) => {
  if (ctx.path !== '/seed') return next();
  ctx.body = [];
  for (let i = 0; i < Number(ctx.query.n); i++) ctx.body.push(await refreshToken());
});
const [host, port] = addr.split(':');
provider.listen(Number(port), host);
