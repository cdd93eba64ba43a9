import { connected } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import { CONSOLE_PROBLEMS } from './problems.ts';

/** Serves the pages for people: the console with its sign-in, the reference of the API, and the guide. */
export const consoleFeature = feature({
  name: 'console',
  routes: {
    makeSignInCode: { method: 'POST', path: '/sign-in-codes', key: 'header', access: 'owner' },
    signIn: { method: 'POST', path: '/console/sign-in', key: 'code', access: 'open', isOutside: true },
  },
  isForHubs: true,
  problems: CONSOLE_PROBLEMS,
  handlers: async () => (await import('./handlers.ts')).signInHandlers(),
  document: async () => (await import('./document.ts')).DOCUMENT,
  pages: async (isHub) => (await import('./pages.ts')).consolePages(isHub),
  commands(program) {
    connected(program.command('open'), { json: false })
      .description('Open the console in a browser, signed in.')
      .examples('postern open', 'postern open --demo')
      .runs(async () => (await import('./open-command.ts')).open);
  },
});
