import { isPosternError } from '../client/postern-client.ts';
import type { Include } from '../domain/include.ts';

/** Asks with people's names and `others` included. Retries without the names at a hub, which has none. */
export async function withNames<Answer>(
  ask: (included: { readonly include?: readonly Include[] }) => Promise<Answer>,
  others: readonly Include[] = [],
): Promise<Answer> {
  try {
    return await ask({ include: ['contacts', ...others] });
  } catch (error) {
    if (isPosternError(error) && error.code === 'not_at_a_hub')
      return ask(others.length === 0 ? {} : { include: others });
    throw error;
  }
}
