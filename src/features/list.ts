import type { Feature } from '../core/feature.ts';
import { access } from './access/feature.ts';
import { archive } from './archive/feature.ts';
import { backup } from './backup/feature.ts';
import { bluebubbles } from './bluebubbles/feature.ts';
import { canary } from './canary/feature.ts';
import { changes } from './changes/feature.ts';
import { clientCommands } from './client-commands/feature.ts';
import { consoleFeature } from './console/feature.ts';
import { contacts } from './contacts/feature.ts';
import { content } from './content/feature.ts';
import { doctor } from './doctor/feature.ts';
import { fleet } from './fleet/feature.ts';
import { imsg } from './imsg/feature.ts';
import { installation } from './installation/feature.ts';
import { mcp } from './mcp/feature.ts';
import { media } from './media/feature.ts';
import { oauth } from './oauth/feature.ts';
import { overview } from './overview/feature.ts';
import { scheduled } from './scheduled/feature.ts';
import { search } from './search/feature.ts';
import { selfChat } from './self-chat/feature.ts';
import { shell } from './shell/feature.ts';
import { simulator } from './simulator/feature.ts';
import { webhookListener } from './webhook-listener/feature.ts';

/** The features of this program, in the order in which they are opened, and in which their commands are listed. */
export const FEATURES: readonly Feature[] = [
  clientCommands,
  installation,
  doctor,
  backup,
  shell,
  webhookListener,
  contacts,
  content,
  changes,
  search,
  simulator,
  media,
  archive,
  selfChat,
  access,
  mcp,
  oauth,
  scheduled,
  fleet,
  imsg,
  bluebubbles,
  consoleFeature,
  overview,
  canary,
];
