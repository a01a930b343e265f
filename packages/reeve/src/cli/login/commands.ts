import type { CommandSpec } from '../command.ts'

export const loginCommands: readonly CommandSpec[] = [
  {
    path: 'login',
    summary: 'Save the address of a server and a token for it.',
    details:
      'The token is asked for without being shown, or read from standard input with "-". It is ' +
      'tried before it is kept, in a file that only you may read, and sent to that server alone.',
    examples: [
      { line: 'reeve login', says: 'save a token for the current server' },
      {
        line: 'reeve login https://reeve.example:4646',
        says: 'log in to another server and make it the default',
      },
      { line: 'pass reeve | reeve login -', says: 'read the token from a password store' },
    ],
    args: [
      { usage: '[ADDRESS]', help: 'the server; "-" alone reads the token from standard input' },
      { usage: '[INPUT]', help: '"-" reads the token from standard input' },
    ],
    load: async () => (await import('./login.ts')).runLogin,
  },
  {
    path: 'logout',
    summary: 'Remove the saved token of a server.',
    examples: [{ line: 'reeve logout', says: 'of the current server' }],
    flags: [{ usage: '--all', help: 'remove all saved servers and tokens' }],
    load: async () => (await import('./logout.ts')).runLogout,
  },
]
