import type { LinkPreview } from '../../client/content-types.ts';
import {
  dictionaryIn,
  isoAtSeconds,
  listIn,
  PlistDate,
  present,
  type RowBudget,
  textIn,
} from '../../core/chatdb/public.ts';

type Dictionary = ReadonlyMap<string, unknown>;

/**
 * Returns the preview of a link from its balloon's archive. If the balloon contains no URL, uses `fallback`, the URL in
 * the text. Returns undefined if there is neither.
 */
export function linkPreviewOf(
  payload: Dictionary,
  fallback: string | undefined,
  budget: RowBudget,
): LinkPreview | undefined {
  const given = dictionaryIn(payload, 'richLinkMetadata');
  const metadata = given.size > 0 ? given : dictionaryIn(payload, 'metadata');
  const original = textIn(metadata, 'originalURL');
  const special = specialOf(metadata, budget);
  const url = budget.shown(special.url ?? textIn(metadata, 'URL') ?? original ?? fallback);
  if (url === undefined) return undefined;
  // Real previews have one image. A manipulated archive may list one thousands of times.
  const urls = new Set(budget.items(listIn(metadata, 'images')).map((image) => textIn(dictionaryIn(image), 'URL')));
  const images = [...urls].map((image) => budget.shown(image)).filter((image) => image !== undefined);
  return {
    type: special.type,
    url,
    ...present({
      title: budget.shown(special.title ?? textIn(metadata, 'title')),
      original_url: original === url ? undefined : budget.shown(original),
      summary: budget.textIn(metadata, 'summary'),
      site_name: budget.textIn(metadata, 'siteName'),
      item_type: budget.textIn(metadata, 'itemType'),
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
function specialOf(metadata: Dictionary, budget: RowBudget): Special {
  const document = dictionaryIn(metadata, 'collaborationMetadata');
  if (document.size > 0) return sharedDocument(metadata, document, budget);
  const media = dictionaryIn(metadata, 'specialization');
  if (textIn(media, 'album') !== undefined) return { type: 'music', members: { music: musicOf(media, budget) } };
  if (textIn(media, 'name') !== undefined) {
    const texts = textsOf(media, APP_TEXTS, budget);
    return { type: 'app_store', members: { app_store: texts } };
  }
  const place = dictionaryIn(metadata, 'specialization2');
  if (place.has('address')) return { type: 'place', members: { place: placeOf(place, budget) } };
  return { type: 'page', members: {} };
}

const APP_TEXTS = { name: 'name', subtitle: 'subtitle', platform: 'platform', genre: 'genre' } as const;

function musicOf(media: Dictionary, budget: RowBudget): LinkPreview['music'] {
  return {
    ...textsOf(media, { artist: 'artist', album: 'album', track: 'name', preview_url: 'previewURL' }, budget),
    ...textsOf(dictionaryIn(media, 'lyricExcerpt'), { lyrics: 'lyrics' }, budget),
  };
}

function placeOf(place: Dictionary, budget: RowBudget): LinkPreview['place'] {
  return {
    ...textsOf(place, { name: 'name', address: 'address' }, budget),
    ...textsOf(dictionaryIn(place, 'addressComponents'), ADDRESS_TEXTS, budget),
  };
}

const ADDRESS_TEXTS = {
  street: '_street',
  city: '_city',
  state: '_state',
  postal_code: '_postalCode',
  country: '_country',
  country_code: '_ISOCountryCode',
} as const;

function sharedDocument(metadata: Dictionary, document: Dictionary, budget: RowBudget): Special {
  const created = document.get('creationDate');
  return {
    type: 'document',
    url: textIn(document, 'collaborationIdentifier'),
    title: textIn(document, 'title'),
    members: {
      document: {
        ...textsOf(dictionaryIn(metadata, 'specialization2', 'specialization'), { app: 'application' }, budget),
        ...textsOf(
          dictionaryIn(document, 'containerSetupInfo', 'containerID'),
          { bundle_id: 'ContainerIdentifier' },
          budget,
        ),
        ...present({ created_at: created instanceof PlistDate ? isoAtSeconds(created.seconds) : undefined }),
      },
    },
  };
}

/** Returns the texts found in `from`, under Postern's names. `keys` maps these names to the names in `from`. */
function textsOf<Name extends string>(
  from: Dictionary,
  keys: Readonly<Record<Name, string>>,
  budget: RowBudget,
): { readonly [name in Name]?: string } {
  const texts: { [name in Name]?: string } = {};
  for (const name of Object.keys(keys) as Name[]) {
    const text = budget.textIn(from, keys[name]);
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}
