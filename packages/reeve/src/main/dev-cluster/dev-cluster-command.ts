import { InvalidArgumentError } from 'commander'
import type { CommandFlags, CommandLine, TextOutput } from '../../cli/index.ts'

const SERVERS_MAX = 9
const CLIENTS_MAX = 9
const PORT_MAX = 65_535

/** `reeve dev-cluster`: runs several servers on one machine to demonstrate failover. */
export function addDevCluster(line: CommandLine, terminal: TextOutput): void {
  line
    .add(line.root, 'dev-cluster', {
      summary: 'Run several servers, a database and a node on this machine, for development.',
      details:
        'Starts a throw-away PostgreSQL, servers that share it and a node, each a process of its ' +
        'own on loopback, and tells who leads. A server that is killed is started again after a few ' +
        'seconds. Ctrl-C ends everything and removes it.',
      examples: [
        { line: 'reeve dev-cluster', says: 'three servers and a node' },
        { line: 'reeve dev-cluster --servers 5 --clients 3', says: 'more of both' },
        {
          line: 'reeve dev-cluster --data-dir ./cluster',
          says: 'keep everything for the next time',
        },
        {
          line: 'reeve dev-cluster --database postgres://reeve@localhost/reeve',
          says: 'on a database that is there already',
        },
      ],
      action: async (_operands, flags) => {
        const { runDevCluster } = await import('./run-dev-cluster.ts')
        return await runDevCluster({
          servers: numberFlag(flags, 'servers'),
          clients: numberFlag(flags, 'clients'),
          httpPort: numberFlag(flags, 'httpPort'),
          database: stringFlag(flags, 'database'),
          postgres: stringFlag(flags, 'postgres'),
          dataDirectory: stringFlag(flags, 'dataDir'),
          acl: flags['acl'] === true,
          terminal,
        })
      },
    })
    .option('--servers <N>', 'how many servers', parseInteger(1, SERVERS_MAX), 3)
    .option('--clients <N>', 'how many nodes', parseInteger(0, CLIENTS_MAX), 1)
    .option(
      '--http-port <N>',
      'the port of the first server, the others follow; taken ones are left out, 0 is any',
      parseInteger(0, PORT_MAX),
      4646,
    )
    .option('--database <URL>', 'use this PostgreSQL instead of a throw-away one')
    .option('--postgres <DIR>', 'where initdb and postgres are, when they are not found')
    .option('--data-dir <DIR>', 'keep everything here instead of in a temporary directory')
    .option('--acl', 'ask for tokens on /v1 too')
}

function parseInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}

function numberFlag(flags: CommandFlags, name: string): number {
  return Number(flags[name])
}

function stringFlag(flags: CommandFlags, name: string): string | undefined {
  const given = flags[name]
  return typeof given === 'string' ? given : undefined
}
