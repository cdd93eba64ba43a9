import type { AppCard } from '../../client/content-types.ts';
import { dictionaryIn, isoAtSeconds, lastOfColons, present, type RowBudget, textIn } from '../../core/chatdb/public.ts';
import { APPLE_EPOCH_S } from '../../core/model/durations.ts';
import { businessCardOf } from './business-card.ts';

type Dictionary = ReadonlyMap<string, unknown>;

/** Types of the cards of Apple's own apps. `start` is the beginning of the app's bundle id. */
const TYPES: readonly (readonly [start: string, type: AppCard['type']])[] = [
  ['com.apple.PassbookUIService.PeerPayment', 'payment'],
  ['com.apple.SafetyMonitorApp.', 'check_in'],
  ['com.apple.findmy.', 'find_my'],
  ['com.apple.ActivityMessagesApp.', 'fitness'],
  ['com.apple.mobileslideshow.', 'photos'],
  ['com.apple.icloud.apps.messages.business.', 'business'],
];
/** The team id in the balloon id of an app without a team. */
const NO_TEAM = '0000000000';

/** Returns the card of an app's balloon. `payload` is the balloon's decoded archive; empty if that is unreadable. */
export function appCardOf(balloon: string, payload: Dictionary, budget: RowBudget): AppCard {
  const bundle = lastOfColons(balloon);
  const team = balloon.split(':').at(-2) ?? NO_TEAM;
  const type = TYPES.find(([start]) => bundle.startsWith(start))?.[1] ?? 'app';
  const shown = dictionaryIn(payload, 'userInfo');
  const url = textIn(payload, 'URL');
  const business = type === 'business' ? businessCardOf(payload, budget) : undefined;
  return {
    type,
    bundle_id: bundle,
    ...present({
      team_id: team !== NO_TEAM && team !== '' ? team : undefined,
      name: budget.textIn(payload, 'an'),
      title: budget.textIn(shown, 'image-title'),
      subtitle: budget.textIn(shown, 'image-subtitle'),
      caption: budget.textIn(shown, 'caption'),
      subcaption: budget.textIn(shown, 'subcaption'),
      secondary_subcaption: budget.textIn(shown, 'secondary-subcaption'),
      tertiary_subcaption: budget.textIn(shown, 'tertiary-subcaption'),
      summary: budget.textIn(payload, 'ldtext'),
      url: url !== undefined && /^https?:\/\//i.test(url) ? budget.shown(url) : undefined,
      session_id: budget.textIn(payload, 'sessionIdentifier'),
      check_in: type === 'check_in' ? checkInOf(url) : undefined,
      business,
    }),
  };
}

const MAX_QUERY_CHARACTERS = 8192;

function checkInOf(url = ''): AppCard['check_in'] {
  if (url.length > MAX_QUERY_CHARACTERS) return undefined;
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1));
  const at = (name: string): string | undefined => {
    const value = query.get(name) ?? '';
    // Check-ins count from 1970.
    return /^\d{1,12}(?:\.\d{1,12})?$/.test(value)
      ? isoAtSeconds(Math.trunc(Number(value)) - APPLE_EPOCH_S)
      : undefined;
  };
  return present({ sent_at: at('sendDate'), expected_at: at('estimatedEndTime'), overdue_at: at('triggerTime') });
}
