import { copyFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { safeFileName } from '../../core/model/file-name.ts';
import type { Behaviour } from './commands.ts';

/** A file of a message: its path as chat.db stores it, and its size. */
export interface KeptAttachment {
  readonly name: string;
  readonly bytes: number;
}

/** A file that arrives with a message. */
export interface SimulatedFile {
  readonly name: string;
  readonly mimeType: string;
  readonly content: Buffer;
}

/** Keeps the files of sent and received messages in `Library/Messages/Attachments`, one folder per message. */
export class AttachmentFolder {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  /**
   * Keeps a copy of a sent file. Unless `mode` is `copied`, keeps only the path of the original. Messages may do so
   * too: steipete/imsg stages files as Postern does, and reports that Messages' history names the staged path.
   */
  keep(source: string, row: number, guid: string, mode: Behaviour['stagedFiles']): KeptAttachment {
    if (mode !== 'copied') {
      const name = mode === 'in_place' ? source : source.replace(this.#home, '~');
      return { name, bytes: statSync(source).size };
    }
    const { path, name } = this.#target(basename(source), row, guid);
    copyFileSync(source, path);
    return { name, bytes: statSync(path).size };
  }

  /**
   * Writes a received file. chat.db also has the file name that the sender chose. The name on disk is a safe form of
   * that name, so that it cannot lead out of the folder.
   */
  write(content: Buffer, fileName: string, row: number, guid: string): KeptAttachment {
    const { path, name } = this.#target(safeFileName(fileName), row, guid);
    writeFileSync(path, content);
    return { name, bytes: content.length };
  }

  #target(fileName: string, row: number, guid: string): { readonly path: string; readonly name: string } {
    const folder = (row % 256).toString(16).padStart(2, '0');
    const relative = `Library/Messages/Attachments/${folder}/${guid}/${fileName}`;
    const path = join(this.#home, relative);
    mkdirSync(dirname(path), { recursive: true });
    return { path, name: `~/${relative}` };
  }
}
