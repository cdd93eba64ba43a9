import { extname } from 'node:path';
import type { AttachmentDetails } from '../../core/model/details.ts';
import { bytesOf } from '../../core/model/figures.ts';
import { type ArchivedFile, isStored, type MissingFile, type StoredFile } from './archived-line.ts';
import { type Html, html } from './html.ts';

/** Path from a page of a conversation to the archive's folder. */
const TO_ARCHIVE = '../../';

const PICTURES = new Set(['jpg', 'jpeg', 'png', 'gif', 'webp', 'bmp']);
const SOUNDS = new Set(['m4a', 'mp3', 'wav', 'aac']);
const VIDEOS = new Set(['mov', 'mp4', 'm4v']);

const REASONS: Readonly<Record<MissingFile['missing'], string>> = {
  not_asked: 'not archived',
  in_cloud: 'only in iCloud',
  downloading: 'was being downloaded',
  missing: 'not on the Mac',
  not_readable: 'could not be read',
  changed: 'changed while it was copied',
};

/** Renders the attachments of a message. Embeds the files that every browser can show or play, and names the others. */
export function filesHtml(attachments: readonly AttachmentDetails[], files: readonly ArchivedFile[]): readonly Html[] {
  return attachments.map((attachment, index) => {
    const n = attachment.n ?? index;
    const file = files.find((one) => one.n === n);
    if (file === undefined) return missingHtml(attachment, REASONS.not_asked);
    return isStored(file) ? storedHtml(attachment, file) : missingHtml(attachment, REASONS[file.missing]);
  });
}

function storedHtml({ name }: AttachmentDetails, stored: StoredFile): Html {
  const shown = stored.converted ?? stored;
  const path = TO_ARCHIVE + shown.file;
  const kind = extname(shown.file).slice(1);
  if (PICTURES.has(kind)) return html`<a href="${path}"><img src="${path}" alt="${name}" loading="lazy"></a>`;
  if (SOUNDS.has(kind)) {
    return html`<audio src="${path}" controls preload="none"></audio>${fileCard(name, stored)}`;
  }
  if (VIDEOS.has(kind)) return html`<video src="${path}" controls preload="metadata"></video>`;
  return fileCard(name, stored);
}

/**
 * Renders the name and size of a file. Does not link a file stored as `.bin`, because a browser might open it as a
 * page: the file may be HTML written by its sender.
 */
function fileCard(name: string, { file, bytes }: StoredFile): Html {
  const size = html`<small>${bytesOf(bytes)}</small>`;
  if (file.endsWith('.bin')) {
    return html`<div class="card"><p><bdi>${name}</bdi> ${size}</p><p><small>Not opened here, because a file of this kind can run what its sender wrote. It is in the archive as</small></p><span class="stored">${file}</span></div>`;
  }
  return html`<div class="card"><p><a href="${TO_ARCHIVE + file}"><bdi>${name}</bdi></a> ${size}</p></div>`;
}

function missingHtml({ name, bytes }: AttachmentDetails, reason: string): Html {
  const size = bytes === null ? '' : `${bytesOf(bytes)}, `;
  return html`<div class="card missing"><p><bdi>${name}</bdi> <small>${size}${reason}</small></p></div>`;
}
