import type { ResourceDocument } from '../../core/http/resource.ts';
import { signInBody, signInCodeSchema, signInSchema } from './schema.ts';

const signInCode = {
  url: 'http://127.0.0.1:3001/console#code=c2lnbi1pbi1jb2RlLTE2Yg',
  expires_at: '2026-11-22T14:06:00Z',
};

/** Signing in to the console in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    makeSignInCode: {
      tag: 'Service',
      summary: 'A console address that signs in once',
      description:
        'For `postern open`: the address of the console, with a one-time code in the fragment, which browsers never send. ' +
        'The code has 128 random bits and works once, within 60 seconds. This operation works only over the Unix socket.',
      answers: { 201: { description: 'The address.', schema: 'SignInCode', example: signInCode } },
      problems: ['socket_required'],
    },
    signIn: {
      tag: 'Service',
      summary: 'Exchange a sign-in code for the key; only for the console',
      description:
        'The console calls it with the code from its address. The `Origin` must be the service’s own. ' +
        'A wrong code makes no other code invalid.',
      body: { schema: signInBody, example: { code: 'c2lnbi1pbi1jb2RlLTE2Yg' } },
      answers: { 200: { description: 'The key.', schema: 'SignIn', example: { key: 'the-key-of-config-toml' } } },
      problems: ['own_origin_required', 'sign_in_code_wrong'],
      mistakes: [{ pointer: '/code', message: 'code is missing.' }],
    },
  },
  schemas: { SignIn: signInSchema, SignInCode: signInCodeSchema, SignInRequest: signInBody },
};
