import { type MakeProblem, problemsOf } from '../../core/model/problems.ts';

/** The problems that only MCP answers with. Key: the problem's name. */
export const MCP_PROBLEMS = {
  owner_key_at_mcp: {
    status: 403,
    detail:
      "The owner's key is not accepted at /mcp, because an agent that has it may read everything and send to everyone.",
    hint: 'Make a key for the agent with "postern keys add", or set allow_owner_key = true in the section [mcp] of config.toml.',
  },
  too_many_answers: {
    status: 429,
    detail: 'Answers to earlier requests have not been read yet: try again in {seconds} s.',
    hint: 'Read the answers. Unread answers may total 16 MB for one key and 64 MB for all keys.',
    example: { seconds: 5 },
  },
} as const;

export const mcpProblem: MakeProblem<typeof MCP_PROBLEMS> = problemsOf(MCP_PROBLEMS);
