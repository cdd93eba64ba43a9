import type { LinkPreview } from '../../../domain/cards.ts';
import { PlistDate } from './binary-plist.ts';
import { dictionaryIn, isoAtSeconds, listIn, present, textIn } from './members.ts';

type Dictionary = ReadonlyMap<string, unknown>;

/**
 * Maximum number of images per preview. Real previews have one, but a manipulated archive may list one image thousands
 * of times.
 */
const MAX_IMAGES = 20;
const MAX_IMAGE_URL = 8192;

/**
 * Returns the preview of a link from its balloon's archive. If the balloon contains no URL, uses `fallback`, the URL in
 * the text. Returns undefined if there is neither.
 */
export function linkPreviewOf(payload: Dictionary, fallback: string | undefined): LinkPreview | undefined {
  const given = dictionaryIn(payload, 'richLinkMetadata');
  const metadata = given.size > 0 ? given : dictionaryIn(payload, 'metadata');
  const original = textIn(metadata, 'originalURL');
  const special = specialOf(metadata);
  const url = special.url ?? textIn(metadata, 'URL') ?? original ?? fallback;
  if (url === undefined) return undefined;
  const images = listIn(metadata, 'images')
    .slice(0, MAX_IMAGES)
    .map((image) => textIn(dictionaryIn(image), 'URL'))
    .filter((image): image is string => image !== undefined && image.length <= MAX_IMAGE_URL);
  return {
    type: special.type,
    url,
    ...present({
      title: special.title ?? textIn(metadata, 'title'),
      original_url: original === url ? undefined : original,
      summary: textIn(metadata, 'summary'),
      site_name: textIn(metadata, 'siteName'),
      item_type: textIn(metadata, 'itemType'),
      images: images.length > 0 ? images : undefined,
      placeholder: payload.get('richLinkIsPlaceholder') === true ? (true as const) : undefined,
      ...special.members,
    }),
  };
}

interface Special {
  readonly type: LinkPreview['type'];
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly members: Pick<LinkPreview, 'document' | 'music' | 'app_store' | 'place'>;
}

/** Describes a link's target if it is more than a page, such as a shared document, music or an app. */
function specialOf(metadata: Dictionary): Special {
  const document = dictionaryIn(metadata, 'collaborationMetadata');
  if (document.size > 0) return sharedDocument(metadata, document);
  const media = dictionaryIn(metadata, 'specialization');
  if (textIn(media, 'album') !== undefined) return { type: 'music', members: { music: musicOf(media) } };
  if (textIn(media, 'name') !== undefined) {
    const texts = textsOf(media, { name: 'name', subtitle: 'subtitle', platform: 'platform', genre: 'genre' });
    return { type: 'app_store', members: { app_store: texts } };
  }
  const place = dictionaryIn(metadata, 'specialization2');
  if (place.has('address')) return { type: 'place', members: { place: placeOf(place) } };
  return { type: 'page', members: {} };
}

function musicOf(media: Dictionary): LinkPreview['music'] {
  return {
    ...textsOf(media, { artist: 'artist', album: 'album', track: 'name', preview_url: 'previewURL' }),
    ...textsOf(dictionaryIn(media, 'lyricExcerpt'), { lyrics: 'lyrics' }),
  };
}

function placeOf(place: Dictionary): LinkPreview['place'] {
  return {
    ...textsOf(place, { name: 'name', address: 'address' }),
    ...textsOf(dictionaryIn(place, 'addressComponents'), {
      street: '_street',
      city: '_city',
      state: '_state',
      postal_code: '_postalCode',
      country: '_country',
      country_code: '_ISOCountryCode',
    }),
  };
}

function sharedDocument(metadata: Dictionary, document: Dictionary): Special {
  const created = document.get('creationDate');
  return {
    type: 'document',
    url: textIn(document, 'collaborationIdentifier'),
    title: textIn(document, 'title'),
    members: {
      document: {
        ...textsOf(dictionaryIn(metadata, 'specialization2', 'specialization'), { app: 'application' }),
        ...textsOf(dictionaryIn(document, 'containerSetupInfo', 'containerID'), { bundle_id: 'ContainerIdentifier' }),
        ...present({ created_at: created instanceof PlistDate ? isoAtSeconds(created.seconds) : undefined }),
      },
    },
  };
}

/** Returns the texts found in `from`, under Postern's names. `keys` maps these names to the names in `from`. */
function textsOf<Name extends string>(
  from: Dictionary,
  keys: Readonly<Record<Name, string>>,
): { readonly [name in Name]?: string } {
  const texts: { [name in Name]?: string } = {};
  for (const name of Object.keys(keys) as Name[]) {
    const text = textIn(from, keys[name]);
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}
