// The newest pictures and files of a conversation.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ListedAttachment } from '../../../../core/model/listed-attachment.ts';
import { call } from '../../service/api.ts';
import { type Attachment, attachmentOf } from './attachment-files.ts';
import { AttachmentItem } from './attachments.tsx';

const MESSAGES = 30;
const PICTURES = 6;
const FILES = 5;

/** Loads the files once it is scrolled into view. */
export function ConversationFiles({ id }: { readonly id: string }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const files = useSignal<readonly Attachment[]>([]);
  useLayoutEffect(() => {
    if (box.current === null) return undefined;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return;
      seen.disconnect();
      readFiles(id).then(
        (all) => {
          files.value = all;
        },
        () => {},
      );
    });
    seen.observe(box.current);
    return () => seen.disconnect();
  }, [id]);
  const pictures = files.value.filter(({ type, sticker }) => type?.startsWith('image/') && sticker === undefined);
  const others = files.value.filter(({ type }) => !/^(?:image|audio)\//.test(type ?? ''));
  return (
    <div class="files" ref={box}>
      <Part title="Pictures" kind="shots" attachments={pictures.slice(0, PICTURES)} />
      <Part title="Files" kind="stack tight" attachments={others.slice(0, FILES)} />
    </div>
  );
}

async function readFiles(id: string): Promise<readonly Attachment[]> {
  const path = `conversations/${encodeURIComponent(id)}/attachments?limit=${MESSAGES}`;
  const listed = await call<readonly ListedAttachment[]>(path);
  return listed
    .map((one) => ({ ...attachmentOf(one.message_id, one, 0), width: undefined, height: undefined }))
    .filter(({ isHere }) => isHere);
}

interface PartProps {
  readonly title: string;
  readonly kind: string;
  readonly attachments: readonly Attachment[];
}

const Part = ({ title, kind, attachments }: PartProps): VNode | null =>
  attachments.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <div class={kind}>
        {attachments.map((one) => (
          <AttachmentItem key={one.at} attachment={one} isBeside />
        ))}
      </div>
    </section>
  );
