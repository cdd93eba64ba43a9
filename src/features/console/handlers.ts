import type { Handler } from '../../core/http/router.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import { consoleProblem } from './problems.ts';
import { signInBody } from './schema.ts';
import { CODE_LIFETIME_MS, SignInCodes } from './sign-in-codes.ts';

/**
 * Returns the handlers with which `postern open` signs the console in. The address that it opens contains a code
 * instead of the key (decision S6).
 */
export function signInHandlers(): Readonly<Record<string, Handler>> {
  const codes = new SignInCodes();
  return {
    makeSignInCode(exchange) {
      const { arrival, clock, serviceUrl } = exchange;
      if (arrival !== 'socket') throw consoleProblem('socket_required');
      // The owner alone may use this route, so the key of the request is the owner's. Node decodes headers as Latin-1.
      const key = Buffer.from(exchange.header('x-api-key') ?? '', 'latin1').toString();
      const expiresAt = isoSecond(clock.now() + CODE_LIFETIME_MS);
      const url = `${serviceUrl}/console#code=${codes.make(key, clock)}`;
      return { status: 201, body: { url, expires_at: expiresAt } };
    },

    async signIn(exchange) {
      const { code } = readBody(signInBody, await exchange.json());
      const key = codes.redeem(code, exchange.clock);
      if (key === undefined) throw consoleProblem('sign_in_code_wrong');
      return { status: 200, body: { key } };
    },
  };
}
