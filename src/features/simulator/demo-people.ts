import { invalidRequest } from '../../core/model/problems.ts';
import { type Command, reactionNamed } from './commands.ts';
import type { DemoPeople, TheirRow } from './demo-ports.ts';
import type { SimulatedMac } from './mac.ts';

/** Controls the simulated people for `postern demo say` and `postern demo react`. */
export function demoPeople(mac: SimulatedMac): DemoPeople {
  const tell = async (command: Command): Promise<TheirRow> => {
    const { row } = await perform(command);
    return { id: String(row) };
  };
  const perform = async (command: Command): Promise<{ readonly row?: number }> => {
    try {
      return await mac.command(command);
    } catch (error) {
      if (!(error instanceof Error) || 'code' in error) throw error;
      const message = `The simulated Messages cannot do that: ${error.message}.`;
      throw invalidRequest([{ pointer: '', message }]);
    }
  };
  return {
    say: ({ from, text, conversationId: chat }) =>
      tell({ do: 'receive', from, text, ...(chat !== undefined && { chat }) }),

    read: async (chat) => void (await perform({ do: 'open_chat', chat })),

    react: ({ from, messageId, reaction, isTakenBack }) =>
      tell({ do: 'react', to: Number(messageId), from, ...reactionNamed(reaction, isTakenBack) }),
  };
}
