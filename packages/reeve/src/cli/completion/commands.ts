import type { CommandSpec } from '../command.ts'

export const completionCommands: readonly CommandSpec[] = [
  {
    path: 'completion',
    summary: 'Print what makes a shell complete commands, flags and ids.',
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
    summary: 'What could stand at the end of a command line; for the scripts of "completion".',
    examples: [{ line: 'reeve __complete job status we', says: 'jobs that begin with "we"' }],
    args: [{ usage: '[WORDS...]', help: 'the words so far, the last one unfinished' }],
    isHidden: true,
    passesRest: true,
    load: async () => (await import('./complete.ts')).runComplete,
  },
]
