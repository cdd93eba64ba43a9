import { isPosternError } from '../client/postern-client.ts';

/** Asks with people's names included. Retries without them at a hub, which has none. */
export async function withNames<Answer>(
  ask: (names: { readonly include?: 'contacts' }) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask({ include: 'contacts' });
  } catch (error) {
    if (isPosternError(error) && error.code === 'not_at_a_hub') return ask({});
    throw error;
  }
}
