import type * as z from 'zod';
import type { Decoder } from './chatdb/decoder.ts';
import type { AddedContent, AddedToFile, AddedToRun } from './model/content.ts';
import type { MessageDetails } from './model/details.ts';
import type { Rules } from './model/rules.ts';
import type { AddedSchemas } from './schema/content-schema.ts';

type SchemasOf<Members> = { readonly [Name in keyof Members]-?: z.ZodType<Members[Name]> };

/** The schemas of the members that a feature adds, each once. */
export interface DetailsSchemas<Row, File, Run> extends AddedSchemas {
  readonly row: SchemasOf<Row>;
  readonly file: SchemasOf<File>;
  readonly run: SchemasOf<Run>;
}

/** The visibility of a row's, an attachment's and a run's members, for keys besides the owner's. */
interface MemberRules<Row, File, Run> {
  readonly row: Rules<Row>;
  readonly file: Rules<File>;
  readonly run: Rules<Run>;
}

/**
 * Members that a feature adds to `details`: of the content of a row, of an attachment, and of a run of text. Their
 * types are declared in `AddedContent`, `AddedToFile` and `AddedToRun`. The reader thread gets the decoder from
 * `features/rows.ts`. Fail-closed: a part cannot be declared without saying what keys see of each member.
 */
interface TypedPart<Row, File, Run> {
  readonly rules: MemberRules<Row, File, Run>;
  /** Returns the addresses in the members, besides those of the core, which a client may want names for. */
  people?(details: MessageDetails): readonly string[];
  /** Loads what decodes the members, and says them in a sentence. */
  readonly decoder: () => Promise<Decoder>;
  readonly schemas: () => Promise<DetailsSchemas<Row, File, Run>>;
}

/** A part with any members. */
export interface DetailsPart {
  readonly rules: MemberRules<unknown, unknown, unknown>;
  people?(details: MessageDetails): readonly string[];
  readonly decoder: () => Promise<Decoder>;
  readonly schemas: () => Promise<AddedSchemas>;
}

/** Returns the part. Exists so that the compiler checks that each member has its rule and its schema. */
export function detailsPart<Row, File, Run>(part: TypedPart<Row, File, Run>): DetailsPart {
  return part;
}

interface WithDetails {
  readonly details?: DetailsPart;
}

/** Loads the decoders, in a process that reads rows itself. */
export function decodersOf(features: readonly WithDetails[]): Promise<readonly Decoder[]> {
  return Promise.all(features.flatMap(({ details }) => details?.decoder() ?? []));
}

/** Returns what keys besides the owner's see of the members that features add. */
export function addedRules(features: readonly WithDetails[]): MemberRules<AddedContent, AddedToFile, AddedToRun> {
  const of = <Members>(name: keyof DetailsPart['rules']): Rules<Members> =>
    Object.assign({}, ...features.map(({ details }) => details?.rules[name])) as Rules<Members>;
  return { row: of('row'), file: of('file'), run: of('run') };
}

/** Returns a function for the addresses in the members that features add. */
export function addedPeople(features: readonly WithDetails[]): (details: MessageDetails) => readonly string[] {
  const parts = features.flatMap(({ details = [] }) => details);
  return (details) => parts.flatMap((part) => part.people?.(details) ?? []);
}
