import type { DetectedData } from '../../client/content-types.ts';
import { isList, present, type RunDecoder, readKeyedArchive, textIn } from '../../core/chatdb/public.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';

/** The attributes with data that macOS detected in a text. The value of each is an archived DDScannerResult. */
const KEYS = ['DataDetected', 'Money', 'Address', 'CalendarEvent', 'PhoneNumber'].map(
  (name) => `__kIM${name}AttributeName`,
);

type Scanned = ReadonlyMap<string, unknown>;

/** Types of detected data. Key: the kind that macOS stores in a result's member `T`. Value: Postern's type. */
const TYPES: Readonly<Record<string, DetectedData['type']>> = lookupTable({
  Money: 'money',
  PhysicalAmount: 'quantity',
  FlightInformation: 'flight',
  TrackingNumber: 'tracking_number',
  FullAddress: 'address',
});
/** Kinds that are skipped here, because the same run already contains them as a link or as a one-time code. */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set(['PhoneNumber', 'HttpURL', 'Email', 'AuthCode']);

/**
 * Reads the detected data in the runs of a message, unless they are unreadable. Decodes each result once, however many
 * runs refer to it.
 */
export const detectedIn: RunDecoder = (budget) => {
  const read = new Map<Uint8Array, DetectedData | undefined>();
  return (attributes) => {
    for (const key of KEYS) {
      const data = attributes.get(key);
      if (!(data instanceof Uint8Array)) continue;
      if (!read.has(data)) {
        const result = readKeyedArchive(data, budget);
        read.set(data, result instanceof Map ? detectedOf(result) : undefined);
      }
      const detected = read.get(data);
      if (detected !== undefined) return { detected };
    }
    return undefined;
  };
};

function detectedOf(result: Scanned): DetectedData | undefined {
  const kind = textIn(result, 'T');
  if (kind === undefined || TOLD_ELSEWHERE.has(kind)) return undefined;
  const type = TYPES[kind] ?? (kind.includes('Date') || kind.includes('Time') ? 'date' : 'other');
  return { type, ...present({ text: textIn(result, 'MS'), ...membersOf(type, result) }) };
}

function membersOf(type: DetectedData['type'], result: Scanned): Omit<DetectedData, 'type' | 'text'> {
  switch (type) {
    case 'money':
      // The value can be a code, such as USD for any dollar sign.
      return { currency: foundTextOf(child(result, 'Currency')) };
    case 'quantity':
      return { unit: storedValueOf(child(result, 'Unit')) };
    case 'flight':
      return {
        airline: storedValueOf(child(result, 'AirlineCode')),
        number: storedValueOf(child(result, 'FlightNumber')),
      };
    case 'tracking_number':
      return { carrier: textIn(childrenOf(result)[0] ?? new Map(), 'T') };
    case 'address':
      return {
        street: foundTextOf(child(result, 'Street')),
        city: foundTextOf(child(result, 'City')),
        state: foundTextOf(child(result, 'State')),
        postal_code: foundTextOf(child(result, 'ZipCode')),
        country: foundTextOf(child(result, 'Country')),
        country_code: storedValueOf(child(child(result, 'Country'), 'CountryCode')),
      };
    default:
      return {};
  }
}

function childrenOf(result: Scanned | undefined): readonly Scanned[] {
  const children = result?.get('SR');
  return isList(children) ? children.filter((one): one is Scanned => one instanceof Map) : [];
}

function child(result: Scanned | undefined, kind: string): Scanned | undefined {
  return childrenOf(result).find((one) => one.get('T') === kind);
}

/** Returns the value that macOS derived, else the detected text. */
function storedValueOf(result: Scanned | undefined): string | undefined {
  return result && (textIn(result, 'V') ?? textIn(result, 'MS'));
}

function foundTextOf(result: Scanned | undefined): string | undefined {
  return result && (textIn(result, 'MS') ?? textIn(result, 'V'));
}
