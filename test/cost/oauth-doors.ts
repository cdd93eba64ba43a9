import { KEY } from '../support/http-gateway.ts';
import { openIssuerHost } from '../support/issuer-host.ts';
import { consentOf, decide, ISSUER, OAuthProgram, REDIRECT } from '../support/oauth.ts';
import { ANY, type Entrance, HEADER, inHeader } from './entrances.ts';

const DOCUMENT = 'https://agent.example/client.json';

/** Starts an issuer and returns the entrances that are open to strangers. */
export async function oauthDoors(): Promise<{
  readonly entrances: readonly Entrance[];
  readonly close: () => Promise<void>;
}> {
  const documents: Record<string, unknown> = {};
  const { tunnel, close } = await openIssuerHost({ documents, rateLimitPerMinute: 1_000_000 });
  const program = await OAuthProgram.registered(tunnel);
  const ignoring = async (answer: Promise<Response>): Promise<void> => {
    await answer.then((one) => one.text()).catch(() => undefined);
  };
  const form = (path: string, body: string): Promise<void> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return ignoring(tunnel(ISSUER + path, { method: 'POST', headers, body }));
  };
  const entrances: readonly Entrance[] = [
    {
      name: 'a query for consent',
      limit: HEADER,
      wanted: ['client_id=a&redirect_uri=b&', 'a&b&c&d&e&f&g&'],
      take: (text) => ignoring(tunnel(`${ISSUER}/oauth/authorize?${inHeader(text).replace(/[^!-~]|#/g, '&')}`)),
    },
    {
      name: 'a form of OAuth',
      limit: ANY,
      wanted: ['grant_type=refresh_token&refresh_token=', 'a&b&c&d&e&f&g&h&'],
      take: (text) => form('/oauth/token', text),
    },
    {
      name: 'a token',
      limit: ANY,
      wanted: ['refresh_AAAAAAAAAAAAAAAAAAAAAA', 'access_'],
      take: (text) => ignoring(program.refresh(text)),
    },
    {
      name: 'a body of a registration',
      limit: ANY,
      wanted: ['{"redirect_uris":["https://a.example/"],"client_name":"'],
      take: (text) => ignoring(tunnel(`${ISSUER}/oauth/register`, { method: 'POST', body: text })),
    },
    {
      name: 'a name and an address of a program',
      limit: ANY,
      wanted: ['https://a.example/', 'http://127.0.0.1:1/', 'x-apple.a:'],
      take: async (text) => {
        await ignoring(new OAuthProgram(tunnel).register({ client_name: text, redirect_uris: [text.slice(0, 2000)] }));
        await ignoring(new OAuthProgram(tunnel).register({ client_name: text, redirect_uris: [REDIRECT] }));
      },
    },
    {
      name: 'the document of a program',
      limit: ANY,
      wanted: ['https://a.example/'],
      take: (text) => {
        documents[DOCUMENT] = { client_id: DOCUMENT, client_name: text, redirect_uris: [REDIRECT, text], [text]: text };
        const query = new URLSearchParams({ client_id: DOCUMENT, redirect_uri: REDIRECT });
        return ignoring(tunnel(`${ISSUER}/oauth/authorize?${query.toString()}`));
      },
    },
    {
      name: 'the people of a consent',
      limit: 60_000,
      wanted: ['+15550100\n', ','],
      take: async (text) => {
        const consent = consentOf(await (await program.authorize()).text());
        await ignoring(decide(tunnel, consent, { key: KEY, people: text }));
      },
    },
    {
      name: 'a Bearer token at the issuer',
      limit: HEADER,
      wanted: ['Bearer access_', 'Bearer '],
      take: (text) =>
        ignoring(tunnel(`${ISSUER}/mcp`, { method: 'POST', headers: { authorization: inHeader(text) }, body: '{}' })),
    },
  ];
  return { entrances, close };
}
