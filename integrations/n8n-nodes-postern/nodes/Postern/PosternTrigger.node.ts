import type {
  IDataObject,
  IHookFunctions,
  INodeType,
  INodeTypeDescription,
  IWebhookFunctions,
  IWebhookResponseData,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { ask } from './api';
import { isSigned } from './signature';

interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
}

/** Starts a workflow for events of Messages, by a webhook that lives as long as the workflow is active. */
export class PosternTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Postern Trigger',
    name: 'posternTrigger',
    icon: { light: 'file:../../icons/postern.svg', dark: 'file:../../icons/postern.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: '={{$parameter["events"].join(", ")}}',
    description: 'Starts the workflow when something happens in Apple Messages',
    defaults: { name: 'Postern Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'posternApi', required: true }],
    webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
    properties: [
      {
        displayName: 'Events',
        name: 'events',
        type: 'multiOptions',
        required: true,
        options: [
          { name: 'Message Received', value: 'message.received' },
          { name: 'Message Sent', value: 'message.sent' },
          { name: 'Reaction Added', value: 'reaction.added' },
          { name: 'Reaction Removed', value: 'reaction.removed' },
        ],
        default: ['message.received'],
      },
      {
        displayName: 'Options',
        name: 'options',
        type: 'collection',
        placeholder: 'Add option',
        default: {},
        options: [
          {
            displayName: 'Conversations',
            name: 'conversations',
            type: 'string',
            default: '',
            description: 'Only these conversation IDs, separated by commas',
          },
          {
            displayName: 'Oldest Message (Minutes)',
            name: 'maxAgeMinutes',
            type: 'number',
            typeOptions: { minValue: 0 },
            default: 30,
            description: 'Leaves out older messages, which iCloud may fill in. 0: none are left out.',
          },
          {
            displayName: 'Senders',
            name: 'senders',
            type: 'string',
            default: '',
            description: 'Only these numbers or e-mail addresses, separated by commas',
          },
          {
            displayName: 'Wait While N8n Is Away',
            name: 'hold',
            type: 'boolean',
            default: true,
            description: 'Whether Postern keeps events that n8n did not take, and continues there later',
          },
        ],
      },
    ],
  };

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const { id } = this.getWorkflowStaticData('node');
        const url = this.getNodeWebhookUrl('default');
        const events = this.getNodeParameter('events') as readonly string[];
        const all = await ask<readonly Webhook[]>(this, { method: 'GET', path: '/webhooks' });
        const known = all.find((one) => one.id === id);
        if (known === undefined) return false;
        if (known.url === url && String([...known.events].sort()) === String([...events].sort())) return true;
        await ask(this, { method: 'DELETE', path: `/webhooks/${known.id}` });
        return false;
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const { secret } = await this.getCredentials<{ secret: string }>('posternApi');
        const options = this.getNodeParameter('options', {}) as IDataObject;
        const { maxAgeMinutes = 30, hold = true } = options;
        const [conversations, senders] = [listOf(options.conversations), listOf(options.senders)];
        const body = {
          url: this.getNodeWebhookUrl('default'),
          events: this.getNodeParameter('events'),
          name: `n8n: ${this.getWorkflow().name ?? ''}`.slice(0, 100),
          on_failure: hold === true ? 'hold' : 'drop',
          ...(secret !== '' && { secret }),
          filter: {
            // Spam and what else Messages hides must not start a workflow, which may hand it to an agent.
            junk: false,
            ...(conversations.length > 0 && { conversation_ids: conversations }),
            ...(senders.length > 0 && { senders }),
            ...(Number(maxAgeMinutes) > 0 && { max_age_s: Number(maxAgeMinutes) * 60 }),
          },
        };
        const { id } = await ask<Webhook>(this, { method: 'POST', path: '/webhooks', body: body as IDataObject });
        this.getWorkflowStaticData('node').id = id;
        return true;
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        const data = this.getWorkflowStaticData('node');
        const all = await ask<readonly Webhook[]>(this, { method: 'GET', path: '/webhooks' });
        // The owner may have taken it away.
        if (all.some(({ id }) => id === data.id)) {
          await ask(this, { method: 'DELETE', path: `/webhooks/${String(data.id)}` });
        }
        delete data.id;
        return true;
      },
    },
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { secret } = await this.getCredentials<{ secret: string }>('posternApi');
    const headers = this.getHeaderData() as Readonly<Record<string, unknown>>;
    const request = this.getRequestObject();
    if (secret !== '' && !isSigned(headers, request.rawBody ?? Buffer.alloc(0), secret, Date.now())) {
      this.getResponseObject().status(401).json({ error: 'The signature is missing or wrong.' });
      return { noWebhookResponse: true };
    }
    // An event can come twice after a crash, under the same id.
    const event = { ...this.getBodyData(), delivery_id: headers['webhook-id'] } as IDataObject;
    return { workflowData: [this.helpers.returnJsonArray([event])] };
  }
}

function listOf(written: unknown): readonly string[] {
  return String(written ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
