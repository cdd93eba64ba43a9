import { connected, count } from '../../core/cli/declaration.ts';
import { flag } from '../../core/config/setting.ts';
import { feature } from '../../core/feature.ts';
import type { SearchReport } from './ports.ts';
import { SEARCH_PROBLEMS } from './problems.ts';

/** Searches the texts of all messages, with an index in search.db (decisions J1, J2). */
export const search = feature({
  name: 'search',
  settings: {
    isEnabled: flag(
      {
        name: 'search.enabled',
        title: 'Search',
        about:
          'Whether messages can be searched. true creates search.db in the folder of this file, an index of all messages about a tenth of the size of the database. false deletes it.',
      },
      false,
    ),
  },
  problems: SEARCH_PROBLEMS,
  routes: { searchMessages: { method: 'GET', path: '/search', key: 'header', access: ['read'] } },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  commands(program) {
    connected(program.command('search'))
      .description('Search the texts of all messages, newest first. Needs search.enabled in config.toml.')
      .argument('[query...]', 'words, "a phrase", begin*, -without, from:, in:, has:attachment, after:, before:')
      .option('--limit <number>', 'maximum number (20)', count)
      .option('--status', 'show how much is indexed; on a terminal, keep showing it until the index is complete')
      .examples(
        'postern search dinner saturday',
        `postern search '"see you" from:me after:2026-01-31 -work'`,
        'postern search --status',
      )
      .asks<[readonly string[]]>(async () => (await import('./search-command.ts')).searchCommand);
  },
  isCapable: ({ isEnabled }) => isEnabled,
  shown: async () => (await import('./shown.ts')).shownSearch,
  // Not the ids of skipped messages: a key may not know these exist.
  shownToKeys: ({
    state,
    indexed_rows,
    total_rows,
    indexed_from,
    problem,
    skipped_rows,
  }: SearchReport): SearchReport => ({
    ...{ state, indexed_rows, total_rows, indexed_from, problem },
    ...(skipped_rows !== undefined && { skipped_rows }),
  }),
  async findings({ status }) {
    const { search: report } = (status ?? {}) as { readonly search?: SearchReport };
    return report === undefined ? [] : (await import('./findings.ts')).searchFindings(report);
  },
  open: async (core, { isEnabled }) => (await import('./open.ts')).openSearchIndex(core, isEnabled),
});
