import type { CommandSpec } from '../command.ts'

export const uiCommands: readonly CommandSpec[] = [
  {
    path: 'ui',
    summary: 'Print the address of the web UI, signed in as this command line is.',
    examples: [
      { line: 'reeve ui', says: 'the address, which signs in when there is a token' },
      { line: 'reeve ui --open', says: 'and open it in a browser' },
    ],
    flags: [
      { usage: '--open', help: 'open it in a browser' },
      { usage: '--no-sign-in', help: 'the bare address, which signs nobody in' },
    ],
    isRead: true,
    load: async () => (await import('./ui.ts')).runUi,
  },
]
