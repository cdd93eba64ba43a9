import { isoSecond } from '../../model/iso-second.ts';
import type { Clock } from '../../model/ports/host-ports.ts';
import { problem } from '../../model/problems.ts';
import { readBody } from '../../schema/mistakes.ts';
import type { Handlers } from '../router.ts';
import { CODE_LIFETIME_MS, SignInCodes } from '../sign-in-codes.ts';

export interface SignInParts {
  readonly apiKey: string;
  readonly clock: Clock;
  /** The service's address for a browser on this machine. */
  readonly ownUrl: () => string;
}

/**
 * Returns the handlers with which `postern open` signs the console in. The address it opens contains a code instead of
 * the key (decision S6).
 */
export function signInRoutes({ apiKey, clock, ownUrl }: SignInParts) {
  const codes = new SignInCodes(clock);
  return {
    makeSignInCode({ arrival }) {
      if (arrival !== 'socket') throw problem('socket_required');
      const expiresAt = isoSecond(clock.now() + CODE_LIFETIME_MS);
      return { status: 201, body: { url: `${ownUrl()}/console#code=${codes.make()}`, expires_at: expiresAt } };
    },

    async signIn(exchange) {
      const { signInBody } = await import('../../schema/sign-in-schema.ts');
      const { code } = readBody(signInBody, await exchange.json());
      if (!codes.redeem(code)) throw problem('sign_in_code_wrong');
      return { status: 200, body: { key: apiKey } };
    },
  } satisfies Partial<Handlers>;
}
