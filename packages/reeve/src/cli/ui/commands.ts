import type { CommandSpec } from '../command.ts'

export const uiCommands: readonly CommandSpec[] = [
  {
    path: 'ui',
    summary: 'Print a link to the web UI that signs in with the current token.',
    examples: [
      { line: 'reeve ui', says: 'print the link' },
      { line: 'reeve ui --open', says: 'open it in a browser' },
    ],
    flags: [
      { usage: '--open', help: 'open it in a browser' },
      { usage: '--no-sign-in', help: 'a link without a token' },
    ],
    isRead: true,
    load: async () => (await import('./ui.ts')).runUi,
  },
]
