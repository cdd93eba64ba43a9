import { isAbsolute, relative, resolve as resolvePath } from 'node:path';
import type { MessageSender } from '../../core/model/ports/sending-ports.ts';
import { invalidRequest, problem } from '../../core/model/problems.ts';
import { MISSING, OUTSIDE } from '../../core/sender/checked-attachments.ts';

/**
 * Checks the files of a send. A limited key may send only files in `send.attachment_roots`; without that setting,
 * none.
 */
export async function assertAllowedFiles(
  paths: readonly string[],
  roots: readonly string[],
  sender: Pick<MessageSender, 'attachmentMistakes'>,
): Promise<void> {
  if (paths.length === 0) return;
  // Compares paths before it looks at files: an answer must not reveal whether a file outside the folders exists.
  if (!paths.every((path) => roots.some((root) => isBeneath(path, root)))) {
    throw problem('attachment_not_allowed');
  }
  const mistakes = await sender.attachmentMistakes(paths);
  // The same for a path that leaves the folders by a link, which only looking at the files shows.
  const told = mistakes.map((one) => (one.message === OUTSIDE ? { ...one, message: MISSING } : one));
  if (told.length > 0) throw invalidRequest(told);
}

function isBeneath(path: string, root: string): boolean {
  const rest = relative(resolvePath(root), resolvePath(path));
  return rest !== '' && !isAbsolute(rest) && rest !== '..' && !rest.startsWith('../');
}
