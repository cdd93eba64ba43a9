// Pictures, sounds and files of a message. Loading one takes a request, and all clients share one limit on requests.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { bytesOf } from '../../../../core/model/figures.ts';
import { Button, classes, Icon, IconButton } from '../../parts/parts.tsx';
import { reported } from '../../parts/toast.ts';
import { opened } from '../../parts/view.tsx';
import { bytesAt, statusOf } from '../../service/api.ts';
import { reasonOf } from '../../service/words.ts';
import { type Attachment, addressOf } from './attachment-files.ts';
import { loadWhenSeen } from './picture-queue.ts';

const THUMBNAIL_PIXELS = 480;
const SHOWN_PIXELS = 1568;

interface Props {
  readonly attachment: Attachment;
  /** True in the details pane; its pictures load without a click only if requests are left. */
  readonly isBeside?: boolean;
}

/** Shows or offers an attachment. */
export function AttachmentItem({ attachment, isBeside = false }: Props): VNode {
  const { type, transcript } = attachment;
  const kind = type?.split('/')[0];
  if (kind === 'audio') return <Voice attachment={attachment} />;
  if (kind === 'image') return <Picture attachment={attachment} isBeside={isBeside} />;
  const control = kind === 'video' ? <Video attachment={attachment} /> : <FileButton attachment={attachment} />;
  if (transcript === undefined) return control;
  return (
    <div class="stack tight">
      {control}
      <p class="small soft" dir="auto">
        {transcript}
      </p>
    </div>
  );
}

interface FileProps extends Pick<Props, 'attachment'> {
  /** Said in place of the size. */
  readonly note?: string | undefined;
  /** Called for a click; default: offers the original for download. */
  readonly run?: () => Promise<void>;
}

/** A file with its name and size. */
function FileButton({ attachment, note, run }: FileProps): VNode {
  const { name, path, bytes } = attachment;
  const isBusy = useSignal(false);
  const said = useSignal(note);
  const ending = /\.(\w{1,4})$/.exec(name)?.[1]?.toUpperCase() ?? '';
  const clicked = async (): Promise<void> => {
    isBusy.value = true;
    try {
      await (run?.() ?? download(attachment));
    } catch (error) {
      said.value = run === undefined && statusOf(error) === 404 ? 'not on disk' : reasonOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  const about = said.value ?? (bytes > 0 && Number.isFinite(bytes) ? bytesOf(bytes) : undefined);
  return (
    <button type="button" class="bubble bare doc" title={path} disabled={isBusy.value} onClick={() => void clicked()}>
      <span class="ext" aria-hidden="true">
        {ending === '' ? <Icon name="file" /> : ending}
      </span>
      <span class="stack tight grow">
        <b class="cut2" dir="auto">
          {name}
        </b>
        {about !== undefined && <span class="small quiet">{about}</span>}
      </span>
    </button>
  );
}

/** A picture, which loads when it becomes visible. */
function Picture({ attachment, isBeside }: Required<Props>): VNode {
  const { name, path, sticker, width, height } = attachment;
  const control = useRef<HTMLButtonElement>(null);
  const source = useSignal('');
  const failure = useSignal<{ readonly note?: string } | undefined>(undefined);
  /** Returns false if the picture was not asked for, to stay within the request limit. A click can still load it. */
  const show = async (isByItself: boolean): Promise<boolean> => {
    try {
      const address = await addressOf(attachment, THUMBNAIL_PIXELS, isByItself);
      const picture = new Image();
      picture.src = address;
      await picture.decode();
      source.value = address;
    } catch (error) {
      const status = statusOf(error);
      if (isByItself && status === 0) return false;
      failure.value = status === undefined ? {} : { note: status === 404 ? 'not on disk' : 'could not be loaded' };
    }
    return true;
  };
  useLayoutEffect(() => {
    const { current } = control;
    return current === null ? undefined : loadWhenSeen(current, isBeside, () => show(true));
  }, []);
  if (failure.value !== undefined) return <FileButton attachment={attachment} note={failure.value.note} />;
  const isLoaded = source.value !== '';
  // Reserves room for the picture before it loads.
  const ratio = width !== undefined && height !== undefined && height > 0 ? `${width} / ${height}` : undefined;
  return (
    <button
      type="button"
      ref={control}
      class={classes('picture', !isLoaded && 'waiting', sticker !== undefined && 'sticker')}
      title={path}
      style={{ aspectRatio: ratio }}
      aria-label={isLoaded ? `Show ${name}` : undefined}
      onClick={() => void (isLoaded ? reported(() => enlarge(attachment)) : show(false))}
    >
      {isLoaded ? <img alt={sticker?.description ?? name} src={source.value} /> : name}
    </button>
  );
}

async function enlarge(attachment: Attachment): Promise<void> {
  const source = await addressOf(attachment, SHOWN_PIXELS);
  const viewer = opened(
    <dialog
      id="viewer"
      aria-label="Picture"
      onClick={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      <img alt={attachment.name} src={source} />
      <p class="acts">
        <Button run={() => download(attachment)}>Download</Button>
        <Button run={() => viewer.close()}>Close</Button>
      </p>
    </dialog>,
  );
}

function Video({ attachment }: Pick<Props, 'attachment'>): VNode {
  const source = useSignal('');
  const isBroken = useSignal(false);
  if (isBroken.value) return <FileButton attachment={attachment} />;
  if (source.value !== '') {
    return <Player kind="video" attachment={attachment} source={source.value} broken={isBroken} />;
  }
  const play = async (): Promise<void> => {
    source.value = await addressOf(attachment);
  };
  return <FileButton attachment={attachment} run={play} />;
}

/** A voice message with its transcript. */
function Voice({ attachment }: Pick<Props, 'attachment'>): VNode {
  const { name, transcript } = attachment;
  const source = useSignal('');
  const isBroken = useSignal(false);
  return (
    <div class="bubble bare voice">
      {isBroken.value ? (
        <FileButton attachment={attachment} />
      ) : source.value !== '' ? (
        <Player kind="audio" attachment={attachment} source={source.value} broken={isBroken} />
      ) : (
        <IconButton
          kind=""
          icon="play"
          label={`Play ${name}`}
          run={async () => {
            source.value = await addressOf(attachment);
          }}
        />
      )}
      <span class="small quiet cut">{transcript === undefined ? name : 'Voice message'}</span>
      {transcript !== undefined && (
        <p class="words" dir="auto">
          “{transcript}”
        </p>
      )}
    </div>
  );
}

interface PlayerProps extends Pick<Props, 'attachment'> {
  readonly kind: 'audio' | 'video';
  readonly source: string;
  /** Becomes true if the browser cannot play the file. */
  readonly broken: { value: boolean };
}

/** Plays at once, because somebody has just asked for it. */
function Player({ kind: Tag, attachment, source, broken }: PlayerProps): VNode {
  const player = useRef<HTMLAudioElement & HTMLVideoElement>(null);
  useLayoutEffect(() => {
    player.current?.play().catch(() => {});
  }, []);
  return (
    <Tag
      ref={player}
      controls
      src={source}
      title={attachment.name}
      onError={() => {
        broken.value = true;
      }}
    />
  );
}

/** Offers the original for download. */
async function download({ name, at }: Attachment): Promise<void> {
  const { bytes } = await bytesAt(at);
  const link = document.createElement('a');
  // Ignores the type in the answer, because the sender chose it. A blob of HTML would run in the console's origin,
  // without the console's Content-Security-Policy.
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
