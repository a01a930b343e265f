import type { CommandSpec } from '../command.ts'

export const completionCommands: readonly CommandSpec[] = [
  {
    path: 'completion',
    summary: 'Print a completion script for a shell.',
    examples: [
      { line: 'source <(reeve completion bash)', says: 'in ~/.bashrc' },
      { line: 'source <(reeve completion zsh)', says: 'in ~/.zshrc, after compinit' },
      { line: 'reeve completion fish | source', says: 'in ~/.config/fish/config.fish' },
    ],
    args: [{ usage: '<SHELL>', help: 'bash, zsh or fish' }],
    load: async () => (await import('./completion.ts')).runCompletion,
  },
  {
    path: '__complete',
    summary: 'Complete the last word of a command line; called by completion scripts.',
    examples: [{ line: 'reeve __complete job status we', says: 'jobs whose ID starts with "we"' }],
    args: [{ usage: '[WORDS...]', help: 'the words typed so far, the last one incomplete' }],
    isHidden: true,
    passThroughArgs: true,
    load: async () => (await import('./complete.ts')).runComplete,
  },
]
