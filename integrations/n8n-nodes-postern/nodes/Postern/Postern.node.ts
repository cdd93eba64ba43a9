import type {
  IDataObject,
  IExecuteFunctions,
  INodeExecutionData,
  INodeType,
  INodeTypeDescription,
  JsonObject,
} from 'n8n-workflow';
import { NodeApiError, NodeConnectionTypes } from 'n8n-workflow';
import { type Ask, ask } from './api';

const forMessages = (operations: readonly string[]) => ({
  show: { resource: ['message'], operation: [...operations] },
});

/** Reads, searches and sends messages. */
export class Postern implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Postern',
    name: 'postern',
    icon: { light: 'file:../../icons/postern.svg', dark: 'file:../../icons/postern.dark.svg' },
    group: ['output'],
    version: 1,
    subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
    description: 'Read, search and send Apple Messages on your own Mac',
    defaults: { name: 'Postern' },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    usableAsTool: true,
    credentials: [{ name: 'posternApi', required: true }],
    properties: [
      {
        displayName: 'Resource',
        name: 'resource',
        type: 'options',
        noDataExpression: true,
        options: [
          { name: 'Conversation', value: 'conversation' },
          { name: 'Message', value: 'message' },
        ],
        default: 'message',
      },
      {
        displayName: 'Operation',
        name: 'operation',
        type: 'options',
        noDataExpression: true,
        displayOptions: { show: { resource: ['conversation'] } },
        options: [
          {
            name: 'Get Many',
            value: 'getAll',
            action: 'Get many conversations',
            description: 'List conversations, the most recent first',
          },
        ],
        default: 'getAll',
      },
      {
        displayName: 'Operation',
        name: 'operation',
        type: 'options',
        noDataExpression: true,
        displayOptions: { show: { resource: ['message'] } },
        options: [
          {
            name: 'Get Many',
            value: 'getAll',
            action: 'Get many messages',
            description: 'List messages, the newest first',
          },
          { name: 'Search', value: 'search', action: 'Search messages', description: 'Find messages by their words' },
          {
            name: 'Send',
            value: 'send',
            action: 'Send a message',
            description: 'Send a text, which may be held until the owner approves it',
          },
        ],
        default: 'send',
      },
      {
        displayName: 'Recipient',
        name: 'recipient',
        type: 'string',
        required: true,
        default: '',
        placeholder: '+15550100',
        description: 'A number, an e-mail address, or the ID of a conversation',
        displayOptions: forMessages(['send']),
      },
      {
        displayName: 'Text',
        name: 'text',
        type: 'string',
        typeOptions: { rows: 3 },
        required: true,
        default: '',
        displayOptions: forMessages(['send']),
      },
      {
        displayName: 'Idempotency Key',
        name: 'idempotencyKey',
        type: 'string',
        default: '',
        description:
          'The same key sends once within a day. Empty: one for each execution and item, so that Retry On Fail sends once.',
        displayOptions: forMessages(['send']),
      },
      {
        displayName: 'Words',
        name: 'query',
        type: 'string',
        required: true,
        default: '',
        displayOptions: forMessages(['search']),
      },
      {
        displayName: 'Conversation',
        name: 'conversation',
        type: 'string',
        default: '',
        description: 'Only this conversation. Empty: all that the key may read.',
        displayOptions: forMessages(['getAll']),
      },
      {
        displayName: 'Limit',
        name: 'limit',
        type: 'number',
        typeOptions: { minValue: 1, maxValue: 100 },
        default: 50,
        description: 'Max number of results to return',
        displayOptions: { show: { operation: ['getAll', 'search'] } },
      },
    ],
  };

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const results: INodeExecutionData[] = [];
    for (const itemIndex of this.getInputData().keys()) {
      try {
        const answer = await ask<IDataObject | IDataObject[]>(this, { ...requestOf(this, itemIndex), itemIndex });
        const found = Array.isArray(answer) ? answer : [answer];
        results.push(...found.map((json) => ({ json, pairedItem: { item: itemIndex } })));
      } catch (error) {
        if (!this.continueOnFail()) throw new NodeApiError(this.getNode(), error as JsonObject, { itemIndex });
        results.push({ json: { error: (error as Error).message }, pairedItem: { item: itemIndex } });
      }
    }
    return [results];
  }
}

function requestOf(from: IExecuteFunctions, item: number): Ask {
  const parameter = (name: string): string => String(from.getNodeParameter(name, item, ''));
  const limit = Number(from.getNodeParameter('limit', item, 50));
  if (parameter('resource') === 'conversation') return { method: 'GET', path: '/conversations', query: { limit } };
  switch (parameter('operation')) {
    case 'send': {
      const key = parameter('idempotencyKey') || `n8n-${from.getExecutionId()}-${from.getNode().id}-${item}`;
      const body = { recipient: parameter('recipient'), body: parameter('text') };
      return { method: 'POST', path: '/messages', body, headers: { 'Idempotency-Key': key } };
    }
    case 'search':
      return { method: 'GET', path: '/search', query: { q: parameter('query'), limit } };
    default: {
      const conversation = parameter('conversation');
      const query = { limit, ...(conversation !== '' && { conversation_id: conversation }) };
      return { method: 'GET', path: '/messages', query };
    }
  }
}
