import type { CommandSpec } from '../command.ts'

export const loginCommands: readonly CommandSpec[] = [
  {
    path: 'login',
    summary: 'Keep the address of a server and a token for it.',
    details:
      'The token is asked for without being shown, or read from standard input with "-". It is ' +
      'tried before it is kept, in a file that only you may read, and sent to that server alone.',
    examples: [
      { line: 'reeve login', says: 'a token for the server that is asked now' },
      {
        line: 'reeve login https://reeve.example:4646',
        says: 'for another server, used from now on',
      },
      { line: 'pass reeve | reeve login -', says: 'the token from a password store' },
    ],
    args: [
      { usage: '[ADDRESS]', help: 'the server; "-" alone reads the token from standard input' },
      { usage: '[INPUT]', help: '"-" reads the token from standard input' },
    ],
    load: async () => (await import('./login.ts')).runLogin,
  },
  {
    path: 'logout',
    summary: 'Forget the token for a server.',
    examples: [{ line: 'reeve logout', says: 'the one that is asked now' }],
    flags: [{ usage: '--all', help: 'forget every server and token' }],
    load: async () => (await import('./logout.ts')).runLogout,
  },
]
